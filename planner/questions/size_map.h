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
  // What layouts of these sizes fell to: memory where it is among the reasons, else the most
  // frequent. Nothing when none fell, or when no layout has these sizes.
  std::optional<Rejection> rejection;
  std::optional<Timed> too_large;  // the layout that missed the memory by least
};

// Sizes are those of the search's space; where it names none, powers of two that divide the GPUs,
// and the sizes of the plan's layouts.
std::vector<SizeCell> size_map(const Plan& plan, const SearchOptions& search);

}  // namespace meshwright::planner
