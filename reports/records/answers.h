// SPDX-License-Identifier: Apache-2.0
// What a plan is asked beyond its ranking, as its file and the report have it. Where the planner's
// record says all that a file does, its rows are here and no other record is made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/questions/answers.h"
#include "sim/record/record.h"

namespace meshwright::reports {

inline constexpr std::string_view kCostAbout =
    "Steps x step time x GPUs x price; failures, checkpoints and spare nodes are not in it.";

// The objective, and the best layout's value of it.
struct ObjectiveFacts {
  std::string name{}, unit{}, meaning{};
  bool lower_is_better = true;
  std::optional<double> value{};
};

struct PlanLimits {
  std::optional<Bytes> max_memory{};
  double headroom = 0.0;
  std::optional<Seconds> max_step{};
  std::optional<double> max_cost{};
};

// Names of the layout at one place of the ranking.
struct RankedName {
  int rank = 0;  // from 1
  std::string short_name{}, brief_name{};
};

struct AgainstFacts : RankedName {
  double probability_winner_is_faster = 0.5;
  Seconds difference, deviation;
  double correlation = 0.0;
  Seconds expected_gain;
  int runs_to_settle = 0;
};

struct ProposedRunFacts : RankedName {
  int runs = 1;
  std::string reason{};
};

struct ConfidenceFacts {
  double probability_best = 1.0, expected_regret = 0.0, relative_deviation = 0.0;
  std::vector<AgainstFacts> against{};
  std::string sentence{};
  std::vector<ProposedRunFacts> proposed_runs{};
};

struct SensitivityFacts : planner::Sensitivity {
  bool changes_winner = false;
};

struct RedFlagFacts {
  planner::RedFlagId id{};
  std::string sentence{};
  // One of the two is there.
  std::optional<Seconds> effect_time{};
  std::optional<Bytes> effect_memory{};
};

struct RuleOfThumbBest : planner::Timed {
  double relative_to_best = 1.0;
};

struct RuleOfThumbFacts {
  std::string row{}, sizes{}, source{};
  std::optional<RuleOfThumbBest> best{};
  std::string reason{}, sentence{};
};

struct Answers {
  ObjectiveFacts objective{};
  PlanLimits limits{};
  std::optional<ConfidenceFacts> confidence{};
  std::vector<SensitivityFacts> sensitivity{};
  std::vector<planner::Crossover> crossovers{};
  std::optional<planner::Scaling> scaling{};
  std::vector<planner::WhatIf> what_ifs{};
  std::optional<planner::RankMap> placement{};
  std::optional<planner::RobustPick> robust_pick{};
  std::vector<RedFlagFacts> red_flags{};
  std::optional<RuleOfThumbFacts> rule_of_thumb{};
};

// Record of the answers in a plan's file. The report has scaling and placement in sections of their
// own.
const Record<Answers>& plan_answers_record();
const Record<Answers>& report_answers_record();
const Record<planner::ScalePoint>& scale_point_record();
const Record<planner::Scaling>& scaling_answer_record();
// The rows "axes" and "nodes".
const Record<planner::RankMap>& rank_map_record();

Answers answers_of(const planner::Answers& answers, const planner::Plan& plan);

}  // namespace meshwright::reports
