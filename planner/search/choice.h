// SPDX-License-Identifier: Apache-2.0
// Which of a search's layouts a reader should see: those within the limits, best by the objective
// first, without near-duplicates.
#pragma once

#include "planner/search/objective.h"
#include "planner/search/plan.h"
#include "planner/search/search.h"

namespace meshwright::planner {

// Tells whether a layout is a near-duplicate of a better one: the same tensor, pipeline, context
// and expert sizes and micro-batch, and less than 5 % less memory. Only model chunks, recompute,
// ZeRO stage and overlap may differ: flags of the same arrangement.
bool near_duplicate(const Estimate& estimate, const Estimate& better);

struct LeftOutOfChoice {
  std::int64_t near_duplicates = 0;  // number of omitted near-duplicates
  std::int64_t over_limits = 0;      // number of layouts that exceed a limit
  std::string nearest;  // the fastest layout that a limit left out, in words; empty: none
};

// Drops layouts beyond the limits and near-duplicates of a better one. Then keeps the first `top`
// and those on the Pareto front.
LeftOutOfChoice choose(std::vector<FoundLayout>& layouts, const Scenario& scenario,
                       Objective objective, const Limits& limits, int top);

// At least so many layouts are kept, however few are shown: the contenders of confidence.h are
// among them.
inline constexpr int kLayoutsKept = 20;
// They are chosen from so many of the fastest, with near-duplicates.
inline constexpr int kLayoutsPooled = 8 * kLayoutsKept;

struct ChosenPlan {
  Plan plan;  // the `top` best, at least kLayoutsKept, then the rest of the Pareto set
  Plan pool;  // the kLayoutsPooled fastest and the Pareto set, with near-duplicates
  LeftOutOfChoice left_out;  // of the pool
};
// Searches and chooses. The pool, and with it every answer, does not depend on options.top.
ChosenPlan chosen_plan(const Scenario& scenario, const SearchOptions& options, Objective objective,
                       const Limits& limits);

}  // namespace meshwright::planner
