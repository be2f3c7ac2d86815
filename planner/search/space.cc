// SPDX-License-Identifier: Apache-2.0
#include "planner/search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "sim/base/error.h"
#include "sim/schedule/traits.h"

namespace meshwright::planner {
namespace {

void check_axis(const std::vector<int>& values, const char* name, int lowest, int highest) {
  for (const int value : values) {
    if (value >= lowest && value <= highest) continue;
    throw InputError(
        "search space", "",
        fmt::format("{} must be {} or more{}, is {}", name, lowest,
                    highest < INT32_MAX ? fmt::format(" and at most {}", highest) : "", value));
  }
}

void check_space(const SearchSpace& space) {
  check_axis(space.tensor_parallel_sizes, "tensor_parallel_size", 1, INT32_MAX);
  check_axis(space.pipeline_parallel_sizes, "pipeline_parallel_size", 1, INT32_MAX);
  check_axis(space.virtual_pipeline_parallel_sizes, "virtual_pipeline_parallel_size", 1, INT32_MAX);
  check_axis(space.context_parallel_sizes, "context_parallel_size", 1, INT32_MAX);
  check_axis(space.expert_parallel_sizes, "expert_parallel_size", 1, INT32_MAX);
  check_axis(space.micro_batch_sizes, "micro_batch_size", 1, INT32_MAX);
  check_axis(space.expert_tensor_parallel_sizes, "expert_tensor_parallel_size", 1, INT32_MAX);
  check_axis(space.zero_stages, "zero_stage", 0, 3);
  check_axis(space.zero_shard_sizes, "zero_shard_size", 0, INT32_MAX);
  check_axis(space.recompute_num_layers, "recompute_num_layers", 0, INT32_MAX);
  check_axis(space.cpu_offloading_num_layers, "cpu_offloading_num_layers", 0, INT32_MAX);
}

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

std::vector<int> divisors(int n, int at_most) {
  std::vector<int> found;
  for (int d = 1; d <= std::min(n, at_most); ++d) {
    if (n % d == 0) found.push_back(d);
  }
  return found;
}

std::vector<int> default_tensor_sizes(const Model& model, const Cluster& cluster) {
  const int gpus = cluster.num_gpus();
  const int limit = model.num_attention_heads > 0 ? std::min(model.num_attention_heads, gpus)
                                                  : std::min(model.hidden_size, gpus);
  std::vector<int> sizes;
  for (const int d : divisors(gpus, limit)) {
    if (is_power_of_two(d) || cluster.gpus_per_node % d == 0) sizes.push_back(d);
  }
  return sizes;
}

std::vector<int> or_default(const std::vector<int>& values, std::vector<int> defaults) {
  if (values.empty()) return defaults;
  std::vector<int> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

std::vector<int> micro_batch_sizes(const Job& job, const SearchSpace& space, const Cell& cell) {
  if (!space.micro_batch_sizes.empty()) return or_default(space.micro_batch_sizes, {});
  std::vector<int> sizes{1};  // also where the batch does not divide: counted once, under its rule
  if (job.global_batch_size % cell.data != 0) return sizes;
  const int share = job.global_batch_size / cell.data;
  for (std::int64_t b = 2; b <= share && share % b == 0; b *= 2) {
    sizes.push_back(static_cast<int>(b));
  }
  return sizes;
}

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
                                     const Cell& cell) {
  if (!space.stage_splits.empty()) return space.stage_splits;
  const StageSplit even;
  if (layers_of_stage(model, even, cell.pipeline) > 0) return {even};
  const StageSplit counted{.account_for_embedding_in_pipeline_split = true,
                           .account_for_loss_in_pipeline_split = true};
  const bool counts = model.vocab_size > 0 && layers_of_stage(model, counted, cell.pipeline) > 1;
  return {counts ? counted : short_ends(model.num_layers, cell.pipeline)};
}

// Chunks a stage under a schedule, where the space does not name them.
std::vector<int> virtual_sizes(const Model& model, const SearchSpace& space, const Cell& cell,
                               PipelineSchedule schedule, const StageSplit& split) {
  if (!space.virtual_pipeline_parallel_sizes.empty()) {
    return or_default(space.virtual_pipeline_parallel_sizes, {});
  }
  const ScheduleTraits& t = traits(schedule);
  if (!t.any_number_of_chunks()) return {t.fewest_chunks};
  const int layers = layers_of_stage(model, split, cell.pipeline);
  if (cell.pipeline == 1 || layers == 0) return {};
  std::vector<int> sizes = divisors(layers, layers);
  sizes.erase(sizes.begin());
  return sizes;
}

std::vector<PipelineSchedule> default_schedules() {
  std::vector<PipelineSchedule> schedules;
  for (const ScheduleTraits* t : kSchedules) {
    if (t->searched_by_default) schedules.push_back(t->schedule);
  }
  return schedules;
}

struct Piped {
  PipelineSchedule schedule;
  int chunks;
  StageSplit split;
};

std::vector<Piped> pipelines(const Model& model, const SearchSpace& space, const Cell& cell) {
  std::vector<Piped> found;
  for (const StageSplit& split : stage_splits(model, space, cell)) {
    if (space.schedules.empty() && !space.virtual_pipeline_parallel_sizes.empty()) {
      for (const int v : or_default(space.virtual_pipeline_parallel_sizes, {})) {
        found.push_back({implied_schedule(v), v, split});
      }
      continue;
    }
    for (const PipelineSchedule schedule :
         space.schedules.empty() ? default_schedules() : space.schedules) {
      for (const int v : virtual_sizes(model, space, cell, schedule, split)) {
        found.push_back({schedule, v, split});
      }
    }
  }
  return found;
}

template <typename Value>
std::vector<Value> values_or(const std::vector<Value>& values, std::vector<Value> defaults) {
  return values.empty() ? std::move(defaults) : values;
}

// Every layout of `layouts` with every value of an axis.
template <typename Values, typename Set>
void multiply(std::vector<Layout>& layouts, const Values& values, const Set& set) {
  std::vector<Layout> product;
  product.reserve(layouts.size() * values.size());
  for (const Layout& layout : layouts) {
    for (const auto value : values) {
      product.push_back(layout);
      set(product.back(), value);
    }
  }
  layouts = std::move(product);
}

// Recompute and, where it is full, how many layers.
struct Recompute {
  RecomputeGranularity granularity;
  int num_layers;
};
std::vector<Recompute> recomputes(const SearchSpace& space) {
  std::vector<Recompute> found;
  for (const RecomputeGranularity granularity :
       values_or(space.recompute, {RecomputeGranularity::none, RecomputeGranularity::selective,
                                   RecomputeGranularity::full})) {
    const bool full = granularity == RecomputeGranularity::full;
    for (const int n : full ? or_default(space.recompute_num_layers, {0}) : std::vector{0}) {
      found.push_back({granularity, n});
    }
  }
  return found;
}

// `cell` once for every expert-parallel size and rank order.
void add_cells(std::vector<Cell>& cells, Cell cell, const std::vector<int>& expert,
               const std::vector<RankOrder>& orders) {
  for (const int size : expert) {
    cell.expert = size;
    for (const RankOrder& order : orders) {
      cell.rank_order = order;
      cells.push_back(cell);
    }
  }
}

}  // namespace

void set_overlaps(Layout& layout, bool overlap_grad_reduce) {
  layout.overlap_grad_reduce = overlap_grad_reduce && gradient_group_size(layout) > 1;
  layout.overlap_param_gather = layout.overlap_grad_reduce && layout.zero_stage > 0;
  layout.overlap_p2p_comm = traits(layout.schedule).overlaps_sends;
}

std::vector<Cell> cells_of(const Model& model, const Cluster& cluster, const SearchSpace& space) {
  check_space(space);
  const std::int64_t gpus = cluster.num_gpus();
  const std::vector<int> tensor =
      or_default(space.tensor_parallel_sizes, default_tensor_sizes(model, cluster));
  const std::vector<int> pipeline =
      or_default(space.pipeline_parallel_sizes, divisors(cluster.num_gpus(), model.num_layers));
  const std::vector<int> context = or_default(space.context_parallel_sizes, {1});
  const std::vector<int> expert = or_default(
      space.expert_parallel_sizes,
      model.moe ? divisors(model.moe->num_moe_experts, cluster.num_gpus()) : std::vector{1});
  const std::vector<RankOrder> orders = values_or(space.rank_orders, {Layout{}.rank_order});
  std::vector<Cell> cells;
  for (const int t : tensor) {
    for (const int p : pipeline) {
      for (const int c : context) {
        if (t > gpus || p > gpus || c > gpus) continue;  // products stay below 2^93 otherwise
        const std::int64_t ranks = std::int64_t{t} * p;
        if (ranks > gpus || ranks * c > gpus || gpus % (ranks * c) != 0) continue;
        add_cells(cells, {t, p, c, 1, static_cast<int>(gpus / (ranks * c)), {}}, expert, orders);
      }
    }
  }
  return cells;
}

std::vector<Layout> families_of(const Model& model, const Job& job, const SearchSpace& space,
                                const Cell& cell) {
  std::vector<Layout> families;
  for (const Piped& piped : pipelines(model, space, cell)) {
    for (const int micro_batch : micro_batch_sizes(job, space, cell)) {
      Layout layout;
      layout.tensor_parallel_size = cell.tensor;
      layout.pipeline_parallel_size = cell.pipeline;
      layout.virtual_pipeline_parallel_size = piped.chunks;
      layout.data_parallel_size = cell.data;
      layout.context_parallel_size = cell.context;
      layout.expert_parallel_size = cell.expert;
      layout.micro_batch_size = micro_batch;
      layout.schedule = piped.schedule;
      layout.rank_order = cell.rank_order;
      layout.num_layers_in_first_pipeline_stage = piped.split.num_layers_in_first_pipeline_stage;
      layout.num_layers_in_last_pipeline_stage = piped.split.num_layers_in_last_pipeline_stage;
      layout.account_for_embedding_in_pipeline_split =
          piped.split.account_for_embedding_in_pipeline_split;
      layout.account_for_loss_in_pipeline_split = piped.split.account_for_loss_in_pipeline_split;
      families.push_back(layout);
    }
  }
  return families;
}

std::vector<Layout> stage_settings(const SearchSpace& space, const Layout& family) {
  const bool tensor = family.tensor_parallel_size > 1;
  const bool piped = family.pipeline_parallel_size > 1;
  const bool overlaps = traits(family.schedule).overlaps_sends;
  std::vector<Layout> settings{family};
  multiply(
      settings,
      values_or(space.sequence_parallel, tensor ? std::vector{true, false} : std::vector{false}),
      [](Layout& l, bool on) { l.sequence_parallel = on; });
  multiply(settings, tensor ? values_or(space.tp_comm_overlap, {false}) : std::vector{false},
           [](Layout& l, bool on) { l.tp_comm_overlap = on; });
  multiply(settings,
           tensor && piped ? values_or(space.scatter_gather_p2p, {false}) : std::vector{false},
           [](Layout& l, bool on) { l.scatter_gather_p2p = on; });
  multiply(settings, piped ? values_or(space.overlap_p2p_comm, {overlaps}) : std::vector{overlaps},
           [](Layout& l, bool on) { l.overlap_p2p_comm = on; });
  multiply(settings, or_default(space.expert_tensor_parallel_sizes, {0}),
           [](Layout& l, int size) { l.expert_tensor_parallel_size = size; });
  multiply(settings,
           family.context_parallel_size > 1
               ? values_or(space.cp_comm_types, {ContextParallelAlgorithm::p2p})
               : std::vector{ContextParallelAlgorithm::p2p},
           [](Layout& l, ContextParallelAlgorithm how) { l.cp_comm_type = how; });
  multiply(settings, or_default(space.cpu_offloading_num_layers, {0}),
           [](Layout& l, int layers) { l.cpu_offloading_num_layers = layers; });
  multiply(settings, recomputes(space), [](Layout& l, Recompute recompute) {
    l.recompute_granularity = recompute.granularity;
    l.recompute_num_layers = recompute.num_layers;
    if (recompute.num_layers > 0) l.recompute_method = RecomputeMethod::block;
  });
  return settings;
}

std::vector<Layout> data_settings(const SearchSpace& space, const Layout& cell) {
  const bool data = gradient_group_size(cell) > 1;
  std::vector<Layout> settings{cell};
  multiply(settings, or_default(space.zero_stages, data ? std::vector{0, 1, 2, 3} : std::vector{0}),
           [](Layout& l, int stage) { l.zero_stage = stage; });
  std::vector<Layout> sharded;
  for (const Layout& layout : settings) {
    // Without shards their size means nothing.
    std::vector<Layout> one{layout};
    multiply(
        one,
        data && layout.zero_stage > 0 ? or_default(space.zero_shard_sizes, {0}) : std::vector{0},
        [](Layout& l, int size) { l.zero_shard_size = size; });
    sharded.insert(sharded.end(), one.begin(), one.end());
  }
  multiply(sharded, data ? values_or(space.overlap_grad_reduce, {true}) : std::vector{false},
           [](Layout& l, bool on) { l.overlap_grad_reduce = on; });
  std::vector<Layout> overlapped;
  for (const Layout& layout : sharded) {
    std::vector<Layout> one{layout};
    const bool gathers = layout.overlap_grad_reduce && layout.zero_stage > 0;
    multiply(one, gathers ? values_or(space.overlap_param_gather, {true}) : std::vector{false},
             [](Layout& l, bool on) { l.overlap_param_gather = on; });
    overlapped.insert(overlapped.end(), one.begin(), one.end());
  }
  multiply(overlapped, values_or(space.optimizer_offload, {false}),
           [](Layout& l, bool on) { l.optimizer_offload = on; });
  return overlapped;
}

Layout with_data_setting(Layout stage, const Layout& data) {
  stage.zero_stage = data.zero_stage;
  stage.zero_shard_size = data.zero_shard_size;
  stage.overlap_grad_reduce = data.overlap_grad_reduce;
  stage.overlap_param_gather = data.overlap_param_gather;
  stage.optimizer_offload = data.optimizer_offload;
  return stage;
}

std::vector<Layout> members_of(const SearchSpace& space, const Layout& family) {
  const std::vector<Layout> data = data_settings(space, family);
  std::vector<Layout> members;
  for (const Layout& stage : stage_settings(space, family)) {
    for (const Layout& setting : data) members.push_back(with_data_setting(stage, setting));
  }
  return members;
}

}  // namespace meshwright::planner
