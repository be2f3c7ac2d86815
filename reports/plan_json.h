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
#include "planner/search/plan.h"
#include "planner/search/search.h"
#include "reports/origin_json.h"
#include "sim/json/records.h"
#include "sim/step/scenario.h"

namespace meshwright::reports {

inline constexpr std::string_view kPlanSchema = "meshwright.plan/1";

// The cluster is scaled to the GPUs that were asked for.
struct PlanFile : Scenario {
  Origin origin;
  planner::SearchOptions search;    // what was looked at; defaults when the file does not say
  std::vector<Layout> layouts;      // fastest first
  std::vector<std::size_t> pareto;  // indices into layouts
  std::vector<planner::Rejection> rejections;
  std::vector<planner::Rejection> closest;  // when nothing fits
  planner::SearchStatistics statistics;
  planner::NotExpressible not_expressible;  // where the search has a target
  std::vector<std::string> notes;
  std::vector<std::string> defaults;  // what was not asked for: "seq_length", ...
  Json answers;                       // as answers_to_json() wrote them; null: none were asked for
  Json capacity;                      // as capacity_to_json() wrote it; null: no tokens
  std::optional<planner::Scaling> scaling;  // of the answers
  // Indices into layouts: the real runs that would settle the ranking, the winner's first.
  std::vector<std::size_t> proposed_runs;
};

Json plan_to_json(const planner::Plan& plan, const Origin& origin,
                  const planner::SearchOptions& search = {},
                  const std::optional<planner::Answers>& answers = std::nullopt);
// Throws InputError.
PlanFile plan_from_json(const Json& json, const std::string& file);

// The plan without its estimates: planner::estimate_ranked() makes them again from the layouts.
planner::Plan without_estimates(const PlanFile& plan);

}  // namespace meshwright::reports
