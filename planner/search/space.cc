// SPDX-License-Identifier: Apache-2.0
#include "planner/search/space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "planner/search/balanced_layouts.h"
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
                     fmt::format("{} must be of {}, is {}", field.name, fmt::join(names, ", "),
                                 value_text(field, value)));
  }
}
void check_values(const Field<int>& field, const std::vector<int>& values) {
  for (const int value : values) {
    if (value >= field.values.low && value <= field.values.high) continue;
    throw InputError("search space", "",
                     fmt::format("{} must be from {} to {}, is {}", field.name, field.values.low,
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

template <typename Value>
std::vector<Value> values_or(const std::vector<Value>& values, std::vector<Value> defaults) {
  return values.empty() ? std::move(defaults) : values;
}
std::vector<int> or_default(const std::vector<int>& values, std::vector<int> defaults) {
  if (values.empty()) return defaults;
  std::vector<int> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

std::vector<int> micro_batch_sizes(const Job& job, const SearchSpace& space,
                                   const ParallelSizes& parallel) {
  if (!space[&Layout::micro_batch_size].empty()) {
    return or_default(space[&Layout::micro_batch_size], {});
  };
  std::vector<int> sizes{1};  // also where the batch does not divide: counted once, under its rule
  if (job.global_batch_size % parallel.data != 0) return sizes;
  const int share = job.global_batch_size / parallel.data;
  for (std::int64_t b = 2; b <= share && share % b == 0; b *= 2) {
    sizes.push_back(static_cast<int>(b));
  }
  return sizes;
}

bool has_dense_layers(const Model& model) {
  if (!model.moe) return true;
  return model.moe->num_first_dense_layers > 0 || model.moe->moe_layer_interval > 1;
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
                                     const ParallelSizes& sizes) {
  if (!space.stage_splits.empty()) return space.stage_splits;
  const StageSplit even;
  if (sizes.defaults.pipeline_engine == PipelineEngine::nanotron)
    return {even};  // it splits by cost itself
  if (layers_of_stage(model, even, sizes.pipeline) > 0) return {even};
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

struct Piped {
  PipelineSchedule schedule;
  int chunks;
  StageSplit split;
  PipelineLayout layout{};
};

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

// The lists of layers that a space without any is given, by pipeline size.
class DefaultLists {
 public:
  DefaultLists(const Model& model, const Cluster& cluster, const Job& job, const SearchSpace& space)
      : model_(model), cluster_(cluster), job_(job) {
    named_ = !space[&Layout::pipeline_layout].empty() || !space.stage_splits.empty() ||
             cluster.framework.defaults.layout.pipeline_engine != PipelineEngine::megatron;
  }
  std::vector<PipelineLayout> of(int stages) {
    // With 1.5 layers a stage or fewer no list is balanced.
    if (named_ || stages == 1 || 2 * model_.num_layers <= 3 * stages) return {};
    if (has_usual_chunks(model_, stages)) return {};
    if (!weights_) weights_ = time_weights(model_, cluster_, job_);
    const bool divides = layers_of_stage(model_, {}, stages) > 0;
    return balanced_layouts(model_, *weights_, stages, divides ? 2 : 1);
  }

 private:
  const Model& model_;
  const Cluster& cluster_;
  const Job& job_;
  bool named_ = false;
  std::optional<PartWeights> weights_;
};

// A list says its number of chunks; one that is not what the space asks for is left out.
void add_listed(std::vector<Piped>& found, const SearchSpace& space, int stages,
                PipelineLayout layout) {
  const int v = std::max(1, layout.num_chunks() / stages);
  const std::vector<int>& chunks = space[&Layout::virtual_pipeline_parallel_size];
  if (!chunks.empty() && std::find(chunks.begin(), chunks.end(), v) == chunks.end()) return;
  for (const PipelineSchedule schedule :
       values_or(space[&Layout::schedule], {implied_schedule(v)})) {
    const ScheduleTraits& t = traits(schedule);
    const bool holds =
        t.placement == ChunkPlacement::in_turn && t.fewest_chunks <= v && v <= t.most_chunks;
    if (holds) found.push_back({schedule, v, {}, layout});
  }
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

SearchSpace with_recompute_modules(SearchSpace space, const Model& model, const Job& job) {
  std::vector<RecomputeModules>& sets = space[&Layout::recompute_modules];
  if (!sets.empty()) return space;
  const bool unfused = job.attention_kernel == AttentionKernel::unfused;
  const unsigned attention = unfused ? unsigned{kRecomputeCoreAttention} : 0U;
  const bool delayed = job.precision == Precision::fp8 && job.fp8_recipe == Fp8Recipe::delayed;
  const auto add = [&](unsigned modules) {
    if (delayed && (modules & (kRecomputeLayerNorm | kRecomputeMoeActivation)) != 0) return;
    sets.push_back({static_cast<std::uint8_t>(modules | attention)});
  };
  const unsigned latent = model.mla ? unsigned{kRecomputeMlaUpProjection} : 0U;
  if ((latent | attention) != 0) add(latent);
  if (has_dense_layers(model)) add(latent | kRecomputeMlp);
  if (!model.moe) return space;
  add(kRecomputeMoeActivation);
  add(kRecomputeLayerNorm | latent | kRecomputeMoeActivation);
  if (!model.mla) add(kRecomputeMoe);
  return space;
}

SearchSpace with_token_overlap(SearchSpace space, const Model& model, const Framework& framework) {
  const auto& taken = framework.experts.dispatch_multiprocessors;
  const bool known = std::any_of(taken.begin(), taken.end(), [](int count) { return count > 0; });
  std::vector<bool>& asked = space[&Layout::overlap_moe_expert_parallel_comm];
  if (model.moe && known && asked.empty()) asked = {false, true};
  return space;
}

void set_overlaps(Layout& layout, bool overlap_grad_reduce, const FrameworkLimits& limits) {
  layout.overlap_grad_reduce = overlap_grad_reduce && gradient_group_size(layout) > 1 &&
                               !limits.lacks(Lack::overlap_grad_reduce);
  layout.overlap_param_gather = layout.overlap_grad_reduce && layout.zero_stage > 0 &&
                                !limits.lacks(Lack::overlap_param_gather);
  layout.overlap_p2p_comm =
      traits(layout.schedule).overlaps_sends && !limits.lacks(Lack::overlap_p2p_comm);
}

SearchSpace without_lacks(SearchSpace space, const FrameworkLimits& limits) {
  constexpr std::array kOnUnasked{
      std::pair{Lack::overlap_grad_reduce, &Layout::overlap_grad_reduce},
      std::pair{Lack::overlap_param_gather, &Layout::overlap_param_gather},
      std::pair{Lack::overlap_p2p_comm, &Layout::overlap_p2p_comm}};
  for (const auto& [what, field] : kOnUnasked) {
    if (limits.lacks(what) && space[field].empty()) space[field] = {false};
  }
  return space;
}

bool set_unsaid_overlaps(Layout& layout, const std::vector<std::string>& said,
                         const FrameworkLimits& limits, const SearchSpace& space) {
  constexpr std::array<std::string_view, 3> kOverlaps{"overlap_grad_reduce", "overlap_param_gather",
                                                      "overlap_p2p_comm"};
  const bool named = std::any_of(said.begin(), said.end(), [&](const std::string& field) {
    return std::find(kOverlaps.begin(), kOverlaps.end(), field) != kOverlaps.end();
  });
  if (named) return false;
  const std::vector<bool>& asked = space[&Layout::overlap_grad_reduce];
  set_overlaps(layout, asked.empty() || asked.front(), limits);
  return true;
}

std::vector<ParallelSizes> parallel_sizes_of(const Model& model, const Cluster& cluster,
                                             const Job& job, const SearchSpace& space) {
  for_each_field([&](const auto& field) { check_values(field, space[field.member]); });
  const std::int64_t gpus = cluster.num_gpus();
  const std::vector<int> tensor =
      or_default(space[&Layout::tensor_parallel_size], default_tensor_sizes(model, cluster));
  const std::vector<int> pipeline = or_default(space[&Layout::pipeline_parallel_size],
                                               divisors(cluster.num_gpus(), model.num_layers));
  const std::vector<int> context =
      or_default(space[&Layout::context_parallel_size], default_context_sizes(job, cluster));
  const std::vector<int> expert = or_default(
      space[&Layout::expert_parallel_size],
      model.moe ? divisors(model.moe->num_moe_experts, cluster.num_gpus()) : std::vector{1});
  const std::vector<RankOrder> orders =
      values_or(space[&Layout::rank_order], {Layout{}.rank_order});
  const Layout& defaults = cluster.framework.defaults.layout;
  DefaultLists default_lists(model, cluster, job, space);
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
            all_sizes, {t, p, c, 1, static_cast<int>(gpus / (ranks * c)), {}, defaults, lists[i]},
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
