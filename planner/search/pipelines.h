// SPDX-License-Identifier: Apache-2.0
// How a search divides layers over stages: schedules, chunks, splits and lists of a pipeline size.
#pragma once

#include <optional>
#include <vector>

#include "planner/search/balanced_layouts.h"
#include "planner/search/search.h"
#include "planner/search/space.h"
#include "sim/layout/layout.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

struct Piped {
  PipelineSchedule schedule;
  int chunks;
  StageSplit split;
  PipelineLayout layout{};
};

// Every one of a pipeline size that the space asks for, or that stands where it asks for nothing
// (space.h).
std::vector<Piped> pipelines(const Model& model, const SearchSpace& space,
                             const ParallelSizes& sizes);

// The lists of layers that a space without any is given, by pipeline size.
class DefaultLists {
 public:
  // `everywhere`: also for sizes that the layers divide by.
  DefaultLists(const Scenario& scenario, const SearchSpace& space, bool everywhere);
  std::vector<PipelineLayout> of(int stages);

 private:
  const Scenario& scenario_;
  bool everywhere_ = false;
  bool named_ = false;
  bool folds_ = false;  // a schedule that halves each stage is asked for
  std::optional<PartWeights> weights_;
};

}  // namespace meshwright::planner
