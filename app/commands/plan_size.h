// SPDX-License-Identifier: Apache-2.0
// The GPU count and the sequence length that a plan is of, where several are asked or one is
// sought.
#pragma once

#include <string>
#include <vector>

#include "app/options/inputs.h"
#include "planner/questions/answers.h"
#include "planner/search/search.h"

namespace meshwright::app {

struct SoughtSize {
  bool fewest_gpus = false, longest_sequence = false;
};

struct PlanSize {
  std::string found{};         // what was sought, and what limits it; empty: nothing was
  planner::Scaling scaling{};  // of several GPU counts
};

// Sets the inputs to the best of several GPU counts, or to the size that is sought.
PlanSize settle_size(SoughtSize sought, const std::vector<int>& gpu_counts, Inputs& inputs,
                     const planner::SearchOptions& search, const planner::AnswerOptions& asked);

}  // namespace meshwright::app
