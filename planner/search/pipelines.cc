// SPDX-License-Identifier: Apache-2.0
#include "planner/search/pipelines.h"

#include <algorithm>

#include "planner/search/axis_values.h"
#include "sim/schedule/traits.h"

namespace meshwright::planner {
namespace {

// Layers and what counts as one, of an even stage; 0 where they do not divide.
int layers_of_stage(const Model& model, const StageSplit& split, int stages) {
  const int first = split.num_layers_in_first_pipeline_stage;
  const int last = split.num_layers_in_last_pipeline_stage;
  const int even = stages - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
  const int layers = model.num_layers - first - last +
                     (split.account_for_embedding_in_pipeline_split ? 1 : 0) +
                     (split.account_for_loss_in_pipeline_split ? 1 : 0);
  return even > 0 && layers > 0 && layers % even == 0 ? layers / even : 0;
}

// First and last stage short of what the others hold, the last one shorter: it has the output
// linear. 61 layers on 16 stages: 3, fourteen times 4, 2 (as DeepSeek-V3 asks for).
StageSplit short_ends(int num_layers, int stages) {
  const int middle = (num_layers + 2 + stages - 1) / stages;
  const int ends = num_layers - (stages - 2) * middle;
  StageSplit split;
  if (ends < 2 || ends > 2 * middle) return split;
  split.num_layers_in_first_pipeline_stage = (ends + 1) / 2;
  if (stages > 2) split.num_layers_in_last_pipeline_stage = ends / 2;
  return split;
}

std::vector<StageSplit> stage_splits(const Model& model, const SearchSpace& space,
                                     const ParallelSizes& sizes) {
  if (!space.stage_splits.empty()) return space.stage_splits;
  const StageSplit even;
  if (sizes.defaults.pipeline_engine == PipelineEngine::nanotron)
    return {even};  // it splits by cost itself
  if (layers_of_stage(model, even, sizes.pipeline) > 0) {
    const bool shorter = sizes.uneven && sizes.pipeline > 1 && sizes.pipeline_layouts.empty();
    if (!shorter) return {even};
    return {even, short_ends(model.num_layers, sizes.pipeline)};
  }
  const StageSplit counted{.account_for_embedding_in_pipeline_split = true,
                           .account_for_loss_in_pipeline_split = true};
  const bool counts = model.vocab_size > 0 && layers_of_stage(model, counted, sizes.pipeline) > 1;
  if (counts) return {counted};
  if (!sizes.pipeline_layouts.empty()) return {};
  return {short_ends(model.num_layers, sizes.pipeline)};
}

// Chunks a stage under a schedule, where the space does not name them.
std::vector<int> virtual_sizes(const Model& model, const SearchSpace& space,
                               const ParallelSizes& parallel, PipelineSchedule schedule,
                               const StageSplit& split) {
  const std::vector<int>& asked = space[&Layout::virtual_pipeline_parallel_size];
  if (!asked.empty()) return or_default(asked, {});
  const ScheduleTraits& t = traits(schedule);
  if (!t.any_number_of_chunks()) return {t.fewest_chunks};
  const int layers = layers_of_stage(model, split, parallel.pipeline);
  if (parallel.pipeline == 1 || layers == 0) return {};
  std::vector<int> sizes = divisors(layers, layers);
  sizes.erase(sizes.begin());
  return sizes;
}

std::vector<PipelineSchedule> default_schedules() {
  std::vector<PipelineSchedule> schedules;
  for (const ScheduleTraits* t : pipeline_schedules) {
    if (t->searched_by_default) schedules.push_back(t->schedule);
  }
  return schedules;
}

// Where a stage's layers, or those of stages with embedding and loss counted, have chunks that
// recipes use, lists are not looked at.
bool has_usual_chunks(const Model& model, int stages) {
  constexpr int kMostUsual = 8;
  const StageSplit counted{.account_for_embedding_in_pipeline_split = true,
                           .account_for_loss_in_pipeline_split = true};
  const int even = layers_of_stage(model, {}, stages);
  const int layers = even > 0 ? even : layers_of_stage(model, counted, stages);
  if (layers == 1) return true;
  for (int chunks = 2; chunks <= kMostUsual; ++chunks) {
    if (layers > 0 && layers % chunks == 0) return true;
  }
  return false;
}

// A list says its number of chunks; one that is not what the space asks for is left out.
void add_listed(std::vector<Piped>& found, const SearchSpace& space, int stages,
                PipelineLayout layout) {
  const int v = std::max(1, layout.num_chunks() / stages);
  const std::vector<int>& chunks = space[&Layout::virtual_pipeline_parallel_size];
  if (!chunks.empty() && std::find(chunks.begin(), chunks.end(), v) == chunks.end()) return;
  for (const PipelineSchedule schedule :
       values_or(space[&Layout::schedule], {implied_schedule(v)})) {
    const ScheduleTraits& t = traits(schedule);
    // Two stages hold each chunk of a mirrored pipeline.
    const int held = t.mirrored() ? 2 * v : v;
    if (t.fewest_chunks <= held && held <= t.most_chunks) {
      found.push_back({schedule, held, {}, layout});
    }
  }
}

}  // namespace

DefaultLists::DefaultLists(const Scenario& scenario, const SearchSpace& space, bool everywhere)
    : scenario_(scenario), everywhere_(everywhere) {
  for (const PipelineSchedule schedule : space[&Layout::schedule]) {
    folds_ = folds_ || traits(schedule).folded();
  }
  named_ = !space[&Layout::pipeline_layout].empty() || !space.stage_splits.empty() ||
           scenario.cluster.framework.defaults.layout.pipeline_engine != PipelineEngine::megatron ||
           scenario.cluster.framework.limits.lacks(Unsupported::pipeline_layout);
}

std::vector<PipelineLayout> DefaultLists::of(int stages) {
  // With 1.5 layers a stage or fewer no list is balanced.
  if (named_ || stages == 1 || 2 * scenario_.model.num_layers <= 3 * stages) return {};
  const int even = layers_of_stage(scenario_.model, {}, stages);
  const bool halves = even % 2 == 0 || !folds_;
  const bool usual = !halves || !has_usual_chunks(scenario_.model, stages);
  if (!usual && !everywhere_) return {};
  if (!weights_) weights_ = time_weights(scenario_);
  const auto lists = [&](int fewest_chunks) {
    return balanced_layouts(scenario_.model, *weights_, stages, fewest_chunks);
  };
  std::vector<PipelineLayout> found;
  if (usual) found = lists(even > 0 ? 2 : 1);
  if (!everywhere_) return found;
  for (const PipelineLayout list : lists(1)) {
    if (std::find(found.begin(), found.end(), list) == found.end()) found.push_back(list);
  }
  return found;
}

std::vector<Piped> pipelines(const Model& model, const SearchSpace& space,
                             const ParallelSizes& sizes) {
  std::vector<Piped> found;
  const std::vector<int>& chunks = space[&Layout::virtual_pipeline_parallel_size];
  const std::vector<PipelineLayout>& lists = space[&Layout::pipeline_layout];
  bool only_lists = !lists.empty() && space.stage_splits.empty();
  for (const PipelineLayout list : lists) only_lists = only_lists && list;
  const auto add_lists = [&] {
    for (const PipelineLayout list : lists.empty() ? sizes.pipeline_layouts : lists) {
      if (list) add_listed(found, space, sizes.pipeline, list);
    }
    return found;
  };
  if (only_lists) return add_lists();
  for (const StageSplit& split : stage_splits(model, space, sizes)) {
    if (space[&Layout::schedule].empty() && !chunks.empty()) {
      for (const int v : or_default(chunks, {})) {
        found.push_back({implied_schedule(v), v, split});
      }
      continue;
    }
    for (const PipelineSchedule schedule :
         values_or(space[&Layout::schedule], default_schedules())) {
      for (const int v : virtual_sizes(model, space, sizes, schedule, split)) {
        found.push_back({schedule, v, split});
      }
    }
  }
  return add_lists();
}

}  // namespace meshwright::planner
