// SPDX-License-Identifier: Apache-2.0
// Why a search found no layout, and the nearest sizes with which it finds one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/search/plan.h"
#include "planner/search/search.h"

namespace meshwright::planner {

struct NoLayout {
  std::optional<Rule> rule{};  // the rule that is the cause; nothing: no sizes multiply to the GPUs
  std::string cause;           // the nearest miss of that rule in words
  // Where memory is not the cause: the nearest smaller and larger values with which a search finds
  // a layout that fits. Each list changes one of the two and keeps the other.
  std::vector<int> global_batch_sizes{};
  std::vector<int> gpus{};
};

// For a plan whose search ranked nothing. Tries a few sizes on either side, each by a search.
NoLayout why_no_layout(const Plan& plan, const SearchOptions& search);

// "global_batch_size 512 is not divisible by ... (its rule). Nearest that work: ..."
std::string sentence_of(const NoLayout& why, const Scenario& scenario);

}  // namespace meshwright::planner
