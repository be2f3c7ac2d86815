// SPDX-License-Identifier: Apache-2.0
// Runs that somebody measured beside what is predicted for them (schema "meshwright.backtest/1"),
// and beside what a search would have picked in their place ("meshwright.picks/1").
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/accuracy/backtest.h"
#include "planner/accuracy/picks.h"
#include "planner/search/contenders.h"
#include "sim/record/record.h"

namespace meshwright::reports {

inline constexpr std::string_view kBacktestSchema = "meshwright.backtest/1";
inline constexpr std::string_view kPicksSchema = "meshwright.picks/1";

struct MeasuredFacts {
  planner::RunStatus status = planner::RunStatus::ok;
  std::optional<Seconds> step{};
  std::optional<Bytes> peak_memory{};
};

struct PredictedFacts {
  bool fits = true;
  std::optional<Rule> violation{};
  // Where the layout has a price.
  std::optional<Seconds> step{}, step_low{}, step_high{};
  std::optional<IntervalRegime> interval_regime{};
  std::optional<Bytes> peak_memory{}, peak_allocated{};
  std::vector<std::pair<std::string, double>> terms{};  // seconds by TermKind
};

struct BacktestRun {
  std::string id{}, group{};
  Layout layout{};
  MeasuredFacts measured{};
  PredictedFacts predicted{};
  std::optional<double> step_time_error_percent{}, memory_error_percent{};
};

struct BacktestFile {
  std::string name{}, source{}, assumed{};
  planner::Score overall{};
  std::vector<planner::GroupScore> groups{};
  std::vector<BacktestRun> runs{};
  std::vector<planner::UnreadRun> left_out{};
};

struct PickedRun {
  std::string id{}, source{};
  std::optional<Seconds> reported{};
  std::optional<planner::Timed> theirs{}, ours{};
  std::optional<Rule> refused_by{};
  std::optional<double> claim{};
  bool tensor_ranks_leave_node = false;
  std::string cause{}, term{};
};

struct PicksFile {
  std::string set{};
  std::vector<PickedRun> runs{};
  std::vector<planner::UnreadRun> left_out{};
};

const Record<planner::Score>& score_record();
const Record<BacktestFile>& backtest_file_record();
const Record<PicksFile>& picks_file_record();

BacktestFile backtest_file_of(const planner::MeasuredSet& set, const planner::Backtest& backtest);
PicksFile picks_file_of(const planner::MeasuredSet& set, const std::vector<planner::Pick>& picks);

}  // namespace meshwright::reports
