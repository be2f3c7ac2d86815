// SPDX-License-Identifier: Apache-2.0
#include "planner/search/candidates.h"

#include "planner/search/space.h"
#include "sim/rules/rules.h"

namespace meshwright::planner {
namespace {

SearchSpace pipeline_space() {
  SearchSpace space;
  space[&Layout::micro_batch_size] = {1, 2, 4};
  space[&Layout::schedule] = {kDefaultSchedule};
  space[&Layout::pipeline_layout] = {PipelineLayout()};
  space[&Layout::context_parallel_size] = {1};
  return space;
}

std::vector<Layout> legal_layouts(const Model& model, const Job& job, const Layout& pipeline) {
  SearchSpace space;
  space[&Layout::recompute_granularity] = {RecomputeGranularity::none};
  space[&Layout::tp_comm_overlap] = {false};
  if (pipeline.data_parallel_size > 1) space[&Layout::zero_stage] = {0, 1};
  std::vector<Layout> layouts = layouts_of(space, pipeline);
  std::erase_if(layouts, [&](const Layout& layout) {
    return check_layout(model, job, layout, {}).has_value();
  });
  return layouts;
}

}  // namespace

std::vector<LayoutGroup> candidates(const Model& model, const Job& job, int ranks) {
  Cluster cluster;
  cluster.gpus_per_node = ranks;
  const SearchSpace space = pipeline_space();
  std::vector<LayoutGroup> groups;
  for (const ParallelSizes& sizes : parallel_sizes_of({model, cluster, job}, space)) {
    for (const Layout& pipeline : pipeline_settings(model, job, space, sizes)) {
      if (check_layout(model, job, pipeline, {.gpus = ranks})) continue;
      groups.push_back({pipeline, legal_layouts(model, job, pipeline)});
    }
  }
  return groups;
}

}  // namespace meshwright::planner
