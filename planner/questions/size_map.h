// SPDX-License-Identifier: Apache-2.0
// The search again, once for each tensor x pipeline size: what the best layout of these two sizes
// takes, and what stands against the others.
#pragma once

#include <optional>
#include <vector>

#include "planner/search/contenders.h"
#include "planner/search/plan.h"
#include "planner/search/search.h"

namespace meshwright::planner {

struct SizeCell {
  int tensor_parallel_size = 1;
  int pipeline_parallel_size = 1;
  std::optional<Estimate> best;  // nothing when no layout of these sizes fits
  // Reason why layouts of these sizes were rejected: memory if it is among the reasons, else the
  // most frequent one. Nothing if none was rejected, or if no layout has these sizes.
  std::optional<Rejection> rejection;
  std::optional<Timed> too_large;  // the layout that missed the memory by least
};

// Sizes are those of the search's space; where it names none, powers of two that divide the GPUs,
// and the sizes of the plan's layouts.
std::vector<SizeCell> size_map(const Plan& plan, const SearchOptions& search);

}  // namespace meshwright::planner
