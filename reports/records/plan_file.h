// SPDX-License-Identifier: Apache-2.0
// A plan as a file (schema "meshwright.plan/1") and back. Deterministic: no clock, no host.
//
// Reading gives layouts, not estimates: whoever needs numbers computes them again with estimate(),
// so that they are never older than the program that shows them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/questions/answers.h"
#include "planner/search/contenders.h"
#include "planner/search/plan.h"
#include "planner/search/search.h"
#include "reports/records/answers.h"
#include "reports/records/capacity.h"
#include "reports/records/origin.h"
#include "sim/record/record.h"
#include "sim/step/scenario.h"

namespace meshwright::reports {

inline constexpr std::string_view kPlanSchema = "meshwright.plan/1";

// A layout of the ranking, with the two numbers that the plan was made with; 0: a file without.
struct PlannedLayout : planner::Timed {
  std::optional<Estimate> estimate{};  // when it is written, with the parts that its place keeps
};

// A layout whose time would teach much about the others'.
struct RunToMake {
  Layout layout{};
  Seconds step_time;
};

// The cluster is scaled to the GPUs that were asked for.
struct PlanFile : Scenario {
  Origin origin{};
  planner::SearchOptions search{};      // the searched space; defaults if the file states none
  std::vector<PlannedLayout> ranked{};  // fastest first
  std::vector<std::size_t> pareto{};    // indices into ranked
  std::vector<planner::Rejection> rejections{};
  std::vector<planner::Rejection> closest{};  // when nothing fits
  planner::SearchStatistics statistics{};
  planner::NotExpressible not_expressible{};  // where the search has a target
  std::optional<Answers> answers{};           // none: none were asked for
  std::vector<std::string> notes{};
  std::vector<std::string> defaults{};  // values that the user did not set: "seq_length", ...
  std::vector<RunToMake> runs_to_make{};
  std::optional<Capacity> capacity{};  // none: no tokens, or of an earlier version

  [[nodiscard]] std::vector<Layout> layouts() const;      // the ranked ones
  [[nodiscard]] const planner::Scaling* scaling() const;  // of the answers; null: none
  // Indices into ranked: the real runs that would settle the ranking, the winner's first.
  [[nodiscard]] std::vector<std::size_t> proposed_runs() const;
};

// Reading throws InputError.
const Record<PlanFile>& plan_file_record();

// Without what is not the plan's own: defaults, runs to make and capacity.
PlanFile plan_file_of(const planner::Plan& plan, const Origin& origin,
                      const planner::SearchOptions& search = {},
                      const std::optional<planner::Answers>& answers = std::nullopt);

// The plan without its estimates: planner::estimate_ranked() makes them again from the layouts.
planner::Plan without_estimates(const PlanFile& plan);

}  // namespace meshwright::reports
