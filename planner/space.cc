// SPDX-License-Identifier: Apache-2.0
#include "planner/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "sim/error.h"

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
  check_axis(space.zero_stages, "zero_stage", 0, 3);
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

// Chunks a stage under a schedule, where the space does not name them.
std::vector<int> virtual_sizes(const Model& model, const SearchSpace& space, const Cell& cell,
                               PipelineSchedule schedule) {
  if (!space.virtual_pipeline_parallel_sizes.empty()) {
    return or_default(space.virtual_pipeline_parallel_sizes, {});
  }
  if (schedule == PipelineSchedule::zb_v || schedule == PipelineSchedule::dualpipe) return {2};
  if (schedule != PipelineSchedule::interleaved) return {1};
  if (cell.pipeline == 1 || model.num_layers % cell.pipeline != 0) return {};
  std::vector<int> sizes = divisors(model.num_layers / cell.pipeline, model.num_layers);
  sizes.erase(sizes.begin());
  return sizes;
}

struct Piped {
  PipelineSchedule schedule;
  int chunks;
};

std::vector<Piped> pipelines(const Model& model, const SearchSpace& space, const Cell& cell) {
  std::vector<Piped> found;
  if (space.schedules.empty() && !space.virtual_pipeline_parallel_sizes.empty()) {
    for (const int v : or_default(space.virtual_pipeline_parallel_sizes, {})) {
      found.push_back({v > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b, v});
    }
    return found;
  }
  const std::vector<PipelineSchedule> schedules =
      space.schedules.empty()
          ? std::vector{PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved}
          : space.schedules;
  for (const PipelineSchedule schedule : schedules) {
    for (const int v : virtual_sizes(model, space, cell, schedule)) found.push_back({schedule, v});
  }
  return found;
}

}  // namespace

void set_overlaps(Layout& layout, bool overlap_grad_reduce) {
  layout.overlap_grad_reduce = overlap_grad_reduce && gradient_group_size(layout) > 1;
  layout.overlap_param_gather = layout.overlap_grad_reduce && layout.zero_stage > 0;
  layout.overlap_p2p_comm = layout.schedule == PipelineSchedule::interleaved;
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
  std::vector<Cell> cells;
  for (const int t : tensor) {
    for (const int p : pipeline) {
      for (const int c : context) {
        if (t > gpus || p > gpus || c > gpus) continue;  // products stay below 2^93 otherwise
        const std::int64_t ranks = std::int64_t{t} * p;
        if (ranks > gpus || ranks * c > gpus || gpus % (ranks * c) != 0) continue;
        for (const int e : expert) {
          cells.push_back({t, p, c, e, static_cast<int>(gpus / (ranks * c))});
        }
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
      families.push_back(layout);
    }
  }
  return families;
}

std::vector<Layout> members_of(const SearchSpace& space, const Layout& family) {
  static const std::vector<RecomputeGranularity> all_recompute{
      RecomputeGranularity::none, RecomputeGranularity::selective, RecomputeGranularity::full};
  const bool tensor = family.tensor_parallel_size > 1;
  const bool data = gradient_group_size(family) > 1;
  const std::vector<bool> sequence = !space.sequence_parallel.empty() ? space.sequence_parallel
                                     : tensor                         ? std::vector{true, false}
                                                                      : std::vector{false};
  const std::vector<int> zero =
      or_default(space.zero_stages, data ? std::vector{0, 1, 2, 3} : std::vector{0});
  std::vector<Layout> members;
  for (const bool s : sequence) {
    for (const RecomputeGranularity r : space.recompute.empty() ? all_recompute : space.recompute) {
      for (const int z : zero) {
        Layout layout = family;
        layout.sequence_parallel = s;
        layout.recompute_granularity = r;
        layout.zero_stage = z;
        set_overlaps(layout, space.overlap_grad_reduce);
        members.push_back(layout);
      }
    }
  }
  return members;
}

}  // namespace meshwright::planner
