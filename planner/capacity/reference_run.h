// SPDX-License-Identifier: Apache-2.0
// A row beside a run that somebody made: which part of the difference is the layout's, the step's,
// the goodput's, and what nothing explains.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/capacity_study.h"

namespace meshwright::planner {

// Additional GPU-hours of the reference for this one reason; negative: fewer.
struct ReferencePart {
  std::string name;
  std::string sentence;
  double gpu_hours = 0.0;
  double ratio = 1.0;  // of the GPU-hours after it to those before
};

struct ReferenceComparison {
  std::size_t row = 0;
  double gpu_hours = 0.0;  // the row's median
  // In the order in which they are turned: each starts from what the ones before it made. They add
  // up to the reference's GPU-hours less the row's; the last is what is left.
  std::vector<ReferencePart> parts;
  // What the schedule takes more than the last phase's batch for all tokens, where the row holds
  // it already; else it is one of the parts.
  std::optional<double> schedule_gpu_hours;
};

// Nothing where no reference is stated, or no row has its GPU count. `finder` is the rows'.
std::optional<ReferenceComparison> reference_of(const CapacityQuestion& question,
                                                const std::vector<CapacityRow>& rows,
                                                LayoutFinder& finder);

}  // namespace meshwright::planner
