// SPDX-License-Identifier: Apache-2.0
// Answers of serve, serve simulate and serve backtest as records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/serving/serving_backtest.h"
#include "planner/serving/serving_search.h"
#include "sim/record/record.h"

namespace meshwright::reports {

struct ServingPlanFile {
  std::string command{};
  std::vector<std::string> notes{};
  std::string model{}, cluster{}, device{}, engine{};
  ServingLoad load{};
  LatencyLimits limits{};
  double percentile = 0;
  std::string currency{};
  planner::ServingPlan plan{};
  std::vector<planner::ServingTermDifference> explanation{};  // of the first two choices
  std::vector<planner::ServingWhatIf> what_ifs{};
};
const Record<ServingPlanFile>& serving_plan_record();

struct ServingSimulationFile {
  std::string command{};
  std::vector<std::string> notes{};
  std::string model{}, cluster{}, device{}, engine{};
  planner::Deployment deployment{};
  ServingLoad load{};
  ServingMetrics metrics{};
  std::optional<SteadyState> steady{};  // the closed form of the same load
  double goodput = 0, duration = 0, busy_share = 0;
  std::optional<double> prefill_busy_share{};
  std::int64_t steps = 0, preemptions = 0;
};
const Record<ServingSimulationFile>& serving_simulation_record();

// One point and what was said of it.
struct ServingBacktestPoint {
  std::string id{}, group{}, deployment{}, refused{};
  std::vector<std::string> assumed{};
  bool speculation_unknown = false;
  double concurrency = 0;
  double largest_batch = 0;
  planner::ServingValues measured{}, predicted{};
  std::array<double, planner::kNumServingQuantities> spread{};
};
struct ServingBacktestFile {
  std::string command{};
  std::string set{};
  bool simulated = true;
  std::vector<planner::ServingScore> scores{};
  std::vector<planner::LayoutChoice> choices{};
  std::vector<ServingBacktestPoint> points{};
  std::vector<planner::UnreadService> unread{};
};
ServingBacktestFile serving_backtest_file(const planner::MeasuredServices& set,
                                          const std::vector<planner::PredictedService>& predictions,
                                          bool simulated);
const Record<ServingBacktestFile>& serving_backtest_record();

}  // namespace meshwright::reports
