// SPDX-License-Identifier: Apache-2.0
#include "planner/search/space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "planner/search/axis_values.h"
#include "planner/search/pipelines.h"
#include "planner/search/space_limit.h"
#include "sim/base/error.h"
#include "sim/schedule/traits.h"

namespace meshwright::planner {
namespace {

template <typename T>
void check_values(const Field<T>& field, const std::vector<T>& values) {
  for (const T& value : values) {
    std::vector<std::string_view> names;
    bool known = false;
    for (const auto& entry : field.values.names) {
      names.push_back(entry.name);
      known = known || entry.value == value;
    }
    if (known) continue;
    throw InputError("search space", "",
                     fmt::format("{} must be one of {} (got {})", field.name,
                                 fmt::join(names, ", "), value_text(field, value)));
  }
}
void check_values(const Field<int>& field, const std::vector<int>& values) {
  for (const int value : values) {
    if (value >= field.values.low && value <= field.values.high) continue;
    throw InputError("search space", "",
                     fmt::format("{} must be from {} to {} (got {})", field.name, field.values.low,
                                 field.values.high, value));
  }
}
template <typename Module>
void check_values(const Field<ModuleSet<Module>>& /*field*/,
                  const std::vector<ModuleSet<Module>>& /*values*/) {}
void check_values(const Field<bool>& /*field*/, const std::vector<bool>& /*values*/) {}
void check_values(const Field<PipelineLayout>& /*field*/,
                  const std::vector<PipelineLayout>& /*values*/) {}

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

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

// Long sequences only: context parallelism saves activations and costs transfers of keys and
// values.
std::vector<int> default_context_sizes(const Job& job, const Cluster& cluster) {
  constexpr int kFewestPositions = 4096;  // a rank
  std::vector<int> sizes{1};
  for (int c = 2; c <= cluster.num_gpus() && job.seq_length / c >= kFewestPositions; c *= 2) {
    if (job.seq_length % c == 0) sizes.push_back(c);
  }
  return sizes;
}

std::vector<int> micro_batch_sizes(const Job& job, const SearchSpace& space,
                                   const ParallelSizes& parallel) {
  if (!space[&Layout::micro_batch_size].empty()) {
    return or_default(space[&Layout::micro_batch_size], {});
  };
  std::vector<int> sizes{1};  // also where the batch does not divide: counted once, under its rule
  if (job.global_batch_size % parallel.data != 0) return sizes;
  const int share = job.global_batch_size / parallel.data;
  constexpr std::int64_t kEverySizeTo = 8;
  for (std::int64_t b = 2; b <= share; b += b < kEverySizeTo ? 1 : b) {
    if (share % b == 0) sizes.push_back(static_cast<int>(b));
  }
  return sizes;
}

template <typename T, typename Visit>
void for_each_value(const std::vector<T>& asked, const Field<T>& field, const Layout& layout,
                    const Visit& visit) {
  const Unasked<T> unasked = field.unasked_values(layout);
  if (asked.empty() || !unasked.open) {
    for (std::size_t i = 0; i < unasked.count; ++i) visit(unasked.values[i]);
    return;
  }
  for (const T value : asked) visit(value);
}

std::vector<int> in_order(const std::vector<int>& asked) { return or_default(asked, {}); }
template <typename T>
const std::vector<T>& in_order(const std::vector<T>& asked) {
  return asked;
}

// The layout with all values of the switches that vary at a level, the last switch fastest.
template <SearchLevel level, std::size_t index = 0>
void add_settings(const SearchSpace& space, Layout& layout, std::vector<Layout>& settings) {
  if constexpr (index == kNumLayoutFields) {
    settings.push_back(layout);
  } else {
    constexpr const auto& kField = std::get<index>(kLayoutFields);
    if constexpr (kField.level != level) {
      add_settings<level, index + 1>(space, layout, settings);
    } else {
      const auto before = layout.*kField.member;
      for_each_value(in_order(space[kField.member]), kField, layout, [&](const auto& value) {
        layout.*kField.member = value;
        add_settings<level, index + 1>(space, layout, settings);
      });
      layout.*kField.member = before;
    }
  }
}

// `sizes` once for every expert-parallel size and rank order.
void add_parallel_sizes(std::vector<ParallelSizes>& all_sizes, ParallelSizes sizes,
                        const std::vector<int>& expert, const std::vector<RankOrder>& orders) {
  for (const int size : expert) {
    sizes.expert = size;
    for (const RankOrder& order : orders) {
      sizes.rank_order = order;
      all_sizes.push_back(sizes);
    }
  }
}

}  // namespace

void set_overlaps(Layout& layout, bool overlap_grad_reduce, const FeatureLimits& limits) {
  layout.overlap_grad_reduce = overlap_grad_reduce && gradient_group_size(layout) > 1 &&
                               !reduces_after_backward(layout) &&
                               !limits.lacks(Unsupported::overlap_grad_reduce);
  layout.overlap_param_gather = layout.overlap_grad_reduce && layout.zero_stage > 0 &&
                                !limits.lacks(Unsupported::overlap_param_gather);
  layout.overlap_p2p_comm =
      traits(layout.schedule).overlaps_sends && !limits.lacks(Unsupported::overlap_p2p_comm);
}

bool StatedLayout::says(std::string_view field) const {
  return whole || std::find(fields.begin(), fields.end(), field) != fields.end();
}

Layout with_default_overlaps(const StatedLayout& stated, const FeatureLimits& limits,
                             const SearchSpace& space) {
  const auto asked = [&](bool Layout::*field) {
    return space[field].empty() || space[field].front();
  };
  Layout layout = stated.layout;
  Layout usual = stated.layout;
  set_overlaps(usual,
               stated.says("overlap_grad_reduce") ? layout.overlap_grad_reduce
                                                  : asked(&Layout::overlap_grad_reduce),
               limits);
  const auto complete = [&](bool Layout::*field, std::string_view name) {
    if (!stated.says(name)) layout.*field = usual.*field && asked(field);
  };
  complete(&Layout::overlap_grad_reduce, "overlap_grad_reduce");
  complete(&Layout::overlap_param_gather, "overlap_param_gather");
  complete(&Layout::overlap_p2p_comm, "overlap_p2p_comm");
  return layout;
}

std::vector<ParallelSizes> parallel_sizes_of(const Scenario& scenario, const SearchSpace& space,
                                             bool uneven) {
  for_each_field([&](const auto& field) { check_values(field, space[field.member]); });
  const std::int64_t gpus = scenario.cluster.num_gpus();
  const std::vector<int> tensor = or_default(
      space[&Layout::tensor_parallel_size], default_tensor_sizes(scenario.model, scenario.cluster));
  const std::vector<int> pipeline =
      or_default(space[&Layout::pipeline_parallel_size],
                 divisors(scenario.cluster.num_gpus(), scenario.model.num_layers));
  const std::vector<int> context = or_default(
      space[&Layout::context_parallel_size], default_context_sizes(scenario.job, scenario.cluster));
  const std::vector<int> expert =
      or_default(space[&Layout::expert_parallel_size],
                 scenario.model.moe
                     ? divisors(scenario.model.moe->num_moe_experts, scenario.cluster.num_gpus())
                     : std::vector{1});
  const std::vector<RankOrder> orders =
      values_or(space[&Layout::rank_order], {Layout{}.rank_order});
  const Layout defaults = default_layout(scenario.cluster);
  DefaultLists default_lists(scenario, space, uneven);
  std::vector<std::vector<PipelineLayout>> lists;
  for (const int p : pipeline) lists.push_back(default_lists.of(p));
  std::vector<ParallelSizes> all_sizes;
  for (const int t : tensor) {
    for (std::size_t i = 0; i < pipeline.size(); ++i) {
      const int p = pipeline[i];
      for (const int c : context) {
        if (t > gpus || p > gpus || c > gpus) continue;  // products stay below 2^93 otherwise
        const std::int64_t ranks = std::int64_t{t} * p;
        if (ranks > gpus || ranks * c > gpus || gpus % (ranks * c) != 0) continue;
        add_parallel_sizes(
            all_sizes,
            {t, p, c, 1, static_cast<int>(gpus / (ranks * c)), {}, defaults, lists[i], uneven},
            expert, orders);
      }
    }
  }
  return all_sizes;
}

std::vector<Layout> pipeline_settings(const Model& model, const Job& job, const SearchSpace& space,
                                      const ParallelSizes& sizes) {
  const std::vector<Piped> piped_ways = pipelines(model, space, sizes);
  const std::vector<int> micro_batches = micro_batch_sizes(job, space, sizes);
  check_pipeline_settings(space, piped_ways.size() * micro_batches.size());
  std::vector<Layout> settings;
  for (const Piped& piped : piped_ways) {
    for (const int micro_batch : micro_batches) {
      Layout layout = sizes.defaults;
      layout.tensor_parallel_size = sizes.tensor;
      layout.pipeline_parallel_size = sizes.pipeline;
      layout.virtual_pipeline_parallel_size = piped.chunks;
      layout.data_parallel_size = sizes.data;
      layout.context_parallel_size = sizes.context;
      layout.expert_parallel_size = sizes.expert;
      layout.micro_batch_size = micro_batch;
      layout.schedule = piped.schedule;
      layout.rank_order = sizes.rank_order;
      layout.num_layers_in_first_pipeline_stage = piped.split.num_layers_in_first_pipeline_stage;
      layout.num_layers_in_last_pipeline_stage = piped.split.num_layers_in_last_pipeline_stage;
      layout.account_for_embedding_in_pipeline_split =
          piped.split.account_for_embedding_in_pipeline_split;
      layout.account_for_loss_in_pipeline_split = piped.split.account_for_loss_in_pipeline_split;
      layout.pipeline_layout = piped.layout;
      settings.push_back(layout);
    }
  }
  return settings;
}

void stage_settings(const SearchSpace& space, Layout pipeline, std::vector<Layout>& settings) {
  settings.clear();
  add_settings<SearchLevel::stage>(space, pipeline, settings);
  for (Layout& layout : settings) {
    if (layout.recompute_num_layers > 0) layout.recompute_method = RecomputeMethod::block;
  }
}

std::vector<Layout> stage_settings(const SearchSpace& space, const Layout& pipeline) {
  std::vector<Layout> settings;
  stage_settings(space, pipeline, settings);
  return settings;
}

std::vector<Layout> data_settings(const SearchSpace& space, Layout sizes) {
  std::vector<Layout> settings;
  add_settings<SearchLevel::data>(space, sizes, settings);
  return settings;
}

Layout with_data_setting(Layout stage, const Layout& data) {
  for_each_field([&](const auto& field) {
    if (field.level == SearchLevel::data) stage.*field.member = data.*field.member;
  });
  return stage;
}

std::vector<Layout> layouts_of(const SearchSpace& space, const Layout& pipeline) {
  const std::vector<Layout> data = data_settings(space, pipeline);
  std::vector<Layout> layouts;
  for (const Layout& stage : stage_settings(space, pipeline)) {
    for (const Layout& setting : data) layouts.push_back(with_data_setting(stage, setting));
  }
  return layouts;
}

}  // namespace meshwright::planner
