// SPDX-License-Identifier: Apache-2.0
// Which of a search's layouts a reader should see: those within the limits, best by the objective
// first, without near twins.
#pragma once

#include "planner/search/objective.h"
#include "planner/search/plan.h"

namespace meshwright::planner {

// No reason to choose it once a better one is at hand: the same tensor, pipeline, context and
// expert sizes and micro-batch, and less than 5 % less memory. (What is left are model chunks,
// recompute, ZeRO stage and overlap: flags of the same arrangement.)
bool near_twin(const Estimate& estimate, const Estimate& better);

struct LeftOutOfChoice {
  std::int64_t near_twins = 0;
  std::int64_t over_limits = 0;
  std::string nearest;  // the fastest layout that a limit left out, in words; empty: none
};

// Keeps of plan.ranked what is within the limits, and of that the first `top` that are no near
// twins of a better one, with what is on the Pareto front and no near twin either.
LeftOutOfChoice choose(Plan& plan, Objective objective, const Limits& limits, int top);

}  // namespace meshwright::planner
