// SPDX-License-Identifier: Apache-2.0
#include "sim/rules/rules.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/layout/stages.h"
#include "sim/schedule/traits.h"

namespace meshwright {
namespace {

using Found = std::optional<Violation>;

constexpr Violation violated(Rule rule, std::int64_t needed, std::int64_t available) {
  return Violation{rule, static_cast<double>(needed), static_cast<double>(available)};
}

// `available` must be a multiple of `divisor`.
constexpr Found must_divide(Rule rule, std::int64_t available, std::int64_t divisor) {
  if (available % divisor == 0) return std::nullopt;
  return violated(rule, divisor, available);
}

constexpr Found must_be_at_least(Rule rule, std::int64_t available, std::int64_t needed) {
  if (available >= needed) return std::nullopt;
  return violated(rule, needed, available);
}

bool has_dense_mlp(const Model& model) {
  return !model.moe || model.moe->num_first_dense_layers > 0 || model.moe->moe_layer_interval > 1;
}

Found check_heads(const Model& model, const Layout& layout) {
  if (model.num_attention_heads == 0) return std::nullopt;
  const int tp = layout.tensor_parallel_size;
  if (auto found =
          must_divide(Rule::attention_heads_divide_by_tensor_size, model.num_attention_heads, tp)) {
    return found;
  }
  if (model.num_query_groups % tp == 0 || tp % model.num_query_groups == 0) return std::nullopt;
  return violated(Rule::query_groups_divide_by_tensor_size, tp, model.num_query_groups);
}

Found check_widths(const Model& model, const Layout& layout) {
  const int tp = layout.tensor_parallel_size;
  const Rule rule = Rule::ffn_divides_by_tensor_size;
  if (has_dense_mlp(model)) {
    if (auto found = must_divide(rule, model.ffn_hidden_size, tp)) return found;
  }
  if (model.moe) {
    if (auto found = must_divide(rule, model.moe->moe_shared_expert_intermediate_size, tp)) {
      return found;
    }
  }
  return must_divide(Rule::hidden_divides_by_tensor_size, model.hidden_size, tp);
}

Found check_tensor(const Model& model, const Job& job, const Layout& layout) {
  if (auto found = check_heads(model, layout)) return found;
  if (auto found = check_widths(model, layout)) return found;
  if (!layout.sequence_parallel) return std::nullopt;
  if (auto found =
          must_divide(Rule::sequence_divides_by_sequence_parallel_size, job.seq_length,
                      std::int64_t{layout.tensor_parallel_size} * layout.context_parallel_size)) {
    return found;
  }
  return must_be_at_least(Rule::sequence_parallel_needs_tensor_parallel,
                          layout.tensor_parallel_size, 2);
}

// How the layers divide: the stages with a number of their own, and the rest.
struct Split {
  int set_stages = 0;
  int set_layers = 0;
  int even_stages = 0;
  int even_layers = 0;
  int smallest = 0;  // layers of the smallest stage
};

// Nanotron's stages have all their numbers from the costs; here only the smallest is asked for.
Split split_by_cost(const Model& model, const Layout& layout) {
  const std::vector<int> layers = layers_by_cost(model, layout.pipeline_parallel_size);
  Split split;
  split.smallest = *std::min_element(layers.begin(), layers.end());
  return split;
}

Split split_of(const Model& model, const Layout& layout) {
  if (layout.pipeline_engine == PipelineEngine::nanotron) return split_by_cost(model, layout);
  const int first = layout.num_layers_in_first_pipeline_stage;
  const int last = layout.num_layers_in_last_pipeline_stage;
  Split split;
  split.set_stages = (first > 0 ? 1 : 0) + (last > 0 ? 1 : 0);
  split.set_layers = first + last;
  split.even_stages = layout.pipeline_parallel_size - split.set_stages;
  const int embedding = layout.account_for_embedding_in_pipeline_split ? 1 : 0;
  const int loss = layout.account_for_loss_in_pipeline_split ? 1 : 0;
  split.even_layers = model.num_layers + embedding + loss - split.set_layers;
  split.smallest = split.even_stages > 0 ? split.even_layers / split.even_stages : model.num_layers;
  split.smallest -= std::max(embedding, loss);
  if (first > 0) split.smallest = std::min(split.smallest, first);
  if (last > 0) split.smallest = std::min(split.smallest, last);
  return split;
}

// A mirrored stage's second chunk is another stage's, not a second part of this one's layers.
int chunks_of_stage(const Layout& layout) {
  return traits(layout.schedule).mirrored() ? 1 : layout.virtual_pipeline_parallel_size;
}

Found check_layers_by_cost(const Model& model, const Layout& layout) {
  const int given =
      layout.num_layers_in_first_pipeline_stage + layout.num_layers_in_last_pipeline_stage;
  if (given > 0 || layout.account_for_embedding_in_pipeline_split ||
      layout.account_for_loss_in_pipeline_split) {
    return violated(Rule::one_way_of_uneven_stages, 0, given);
  }
  const int stages = layout.pipeline_parallel_size;
  const auto filled = static_cast<std::int64_t>(layers_by_cost(model, stages).size());
  return must_be_at_least(Rule::layers_divide_by_pipeline_size, filled, stages);
}

Found check_layers(const Layout& layout, const Split& split) {
  const int counted = (layout.account_for_embedding_in_pipeline_split ? 1 : 0) +
                      (layout.account_for_loss_in_pipeline_split ? 1 : 0);
  if (counted > 0 && split.set_stages > 0) {
    return violated(Rule::one_way_of_uneven_stages, 0, split.set_stages);
  }
  if (split.even_stages > 0 && split.even_layers >= split.even_stages) {
    if (auto found = must_divide(Rule::layers_divide_by_pipeline_size, split.even_layers,
                                 split.even_stages)) {
      return found;
    }
  } else if (split.set_stages == 0) {
    return violated(Rule::layers_divide_by_pipeline_size, split.even_stages, split.even_layers);
  }
  const int chunks = chunks_of_stage(layout);
  if (chunks == 1) return std::nullopt;
  const Rule rule = Rule::layers_divide_by_virtual_pipeline_size;
  for (const int layers :
       {layout.num_layers_in_first_pipeline_stage, layout.num_layers_in_last_pipeline_stage}) {
    if (auto found = must_divide(rule, layers, chunks)) return found;
  }
  if (split.even_stages <= 0 || split.even_layers <= 0) return std::nullopt;
  return must_divide(rule, split.even_layers / split.even_stages, chunks);
}

Found check_interleaving(const Layout& layout, int micro_batches) {
  if (!traits(layout.schedule).groups_of_stages || layout.virtual_pipeline_parallel_size == 1) {
    return std::nullopt;
  }
  const int pp = layout.pipeline_parallel_size;
  if (auto found = must_be_at_least(Rule::interleaving_needs_pipeline, pp,
                                    layout.overlap_p2p_comm ? 2 : 3)) {
    return found;
  }
  return must_divide(Rule::interleaving_needs_micro_batches_multiple_of_pipeline, micro_batches,
                     pp);
}

Found check_virtual_size(const Layout& layout) {
  const Rule rule = Rule::schedule_fixes_virtual_size;
  const int chunks = layout.virtual_pipeline_parallel_size;
  if (layout.pipeline_engine == PipelineEngine::nanotron && chunks > 1) {
    return violated(rule, 1, chunks);
  }
  const ScheduleTraits& t = traits(layout.schedule);
  if (chunks < t.fewest_chunks) return violated(rule, t.fewest_chunks, chunks);
  return chunks <= t.most_chunks ? Found{} : violated(rule, t.most_chunks, chunks);
}

int fewest_micro_batches(const Layout& layout) {
  const int pp = layout.pipeline_parallel_size;
  if (layout.pipeline_engine == PipelineEngine::nanotron && layout.schedule == kDefaultSchedule) {
    return pp - 1;
  }
  return traits(layout.schedule).fewest_micro_batches.of(pp);
}

Found check_schedule(const Layout& layout, int micro_batches) {
  const int pp = layout.pipeline_parallel_size;
  const ScheduleTraits& t = traits(layout.schedule);
  if (auto found = must_be_at_least(Rule::schedule_needs_pipeline, pp, t.fewest_stages)) {
    return found;
  }
  if (auto found = check_virtual_size(layout)) return found;
  const Rule rule = Rule::schedule_needs_micro_batches;
  if (auto found = must_be_at_least(rule, micro_batches, fewest_micro_batches(layout))) {
    // No micro-batch at all is the batch's rule, below.
    if (micro_batches > 0) return found;
  }
  if (auto found = must_divide(rule, micro_batches, t.micro_batches_multiple_of)) return found;
  return must_divide(Rule::dualpipe_needs_even_pipeline, pp, t.stages_multiple_of);
}

Found check_uneven(const Split& split) {
  if (split.set_stages == 0) return std::nullopt;
  const Rule rule = Rule::uneven_stages_leave_layers_for_the_rest;
  if (split.even_stages < 0) return violated(rule, split.set_stages, 1);
  if (split.even_stages == 0) {
    return split.even_layers == 0 ? Found{} : violated(rule, 0, split.even_layers);
  }
  return must_be_at_least(rule, split.even_layers, split.even_stages);
}

Found check_pipeline(const Model& model, const Layout& layout, int micro_batches) {
  if (layout.pipeline_engine == PipelineEngine::nanotron) {
    if (auto found = check_layers_by_cost(model, layout)) return found;
    return check_schedule(layout, micro_batches);
  }
  const Split split = split_of(model, layout);
  if (auto found = check_layers(layout, split)) return found;
  if (auto found = check_interleaving(layout, micro_batches)) return found;
  if (auto found = check_schedule(layout, micro_batches)) return found;
  return check_uneven(split);
}

Found check_all_to_all_heads(const Model& model, int tp, int group) {
  if (model.num_attention_heads == 0) return std::nullopt;
  const Rule rule = Rule::ulysses_heads_divide_by_context_size;
  if (auto found = must_divide(rule, model.num_attention_heads / tp, group)) return found;
  return must_divide(rule, std::max(1, model.num_query_groups / tp), group);
}

Found check_context(const Model& model, const Job& job, const Layout& layout) {
  const int cp = layout.context_parallel_size;
  if (cp == 1) return std::nullopt;
  if (auto found = must_divide(Rule::sequence_divides_by_context_size, job.seq_length,
                               std::int64_t{2} * cp)) {
    return found;
  }
  const int tp = layout.tensor_parallel_size;
  if (layout.cp_comm_type == ContextParallelAlgorithm::a2a) {
    return check_all_to_all_heads(model, tp, cp);
  }
  if (layout.cp_comm_type != ContextParallelAlgorithm::a2a_p2p) return std::nullopt;
  const int inner = layout.hierarchical_context_parallel_size;
  if (inner < 1) return violated(Rule::hierarchical_context_size_divides, inner, cp);
  if (auto found = check_all_to_all_heads(model, tp, inner)) return found;
  return must_divide(Rule::hierarchical_context_size_divides, cp, inner);
}

Found check_experts(const Model& model, const Layout& layout) {
  const int ep = layout.expert_parallel_size;
  const int etp = expert_tensor_size(layout);
  if (!model.moe) {
    if (ep > 1) return violated(Rule::expert_parallel_needs_experts, ep, 0);
    if (etp != layout.tensor_parallel_size) {
      return violated(Rule::expert_parallel_needs_experts, etp, 0);
    }
    return std::nullopt;
  }
  if (auto found =
          must_divide(Rule::experts_divide_by_expert_size, model.moe->num_moe_experts, ep)) {
    return found;
  }
  const int ranks =
      layout.tensor_parallel_size * layout.data_parallel_size * layout.context_parallel_size;
  if (auto found = must_divide(Rule::expert_mesh_divides_world, ranks, std::int64_t{etp} * ep))
    return found;
  if (auto found = must_divide(Rule::expert_ffn_divides_by_expert_tensor_size,
                               model.moe->moe_ffn_hidden_size, etp)) {
    return found;
  }
  if (layout.tensor_parallel_size == 1 || layout.sequence_parallel) return std::nullopt;
  return violated(Rule::experts_with_tensor_parallel_need_sequence_parallel, 1, 0);
}

Found check_zero(const Layout& layout) {
  const int data = gradient_group_size(layout);
  if (layout.zero_shard_size > 0) {
    if (auto found =
            must_divide(Rule::zero_shard_size_divides_data, data, layout.zero_shard_size)) {
      return found;
    }
  }
  if (layout.zero_stage >= 2 && layout.pipeline_parallel_size > 1) {
    return violated(Rule::zero_2_3_forbids_pipeline, 1, layout.pipeline_parallel_size);
  }
  return std::nullopt;
}

Found check_overlap(const Layout& layout) {
  if (!layout.overlap_param_gather) return std::nullopt;
  if (!layout.overlap_grad_reduce) {
    return violated(Rule::overlap_param_gather_needs_overlap_grad_reduce, 1, 0);
  }
  if (layout.zero_stage == 0) {
    return violated(Rule::overlap_param_gather_needs_sharded_optimizer, 1, 0);
  }
  return std::nullopt;
}

Found check_stage_layers(const Layout& layout, int smallest_stage) {
  if (layout.recompute_granularity == RecomputeGranularity::full) {
    if (auto found = must_be_at_least(Rule::recompute_layers_within_stage, smallest_stage,
                                      layout.recompute_num_layers)) {
      return found;
    }
  }
  if (layout.cpu_offloading_num_layers == 0) return std::nullopt;
  return must_be_at_least(Rule::offloaded_layers_within_stage, smallest_stage,
                          layout.cpu_offloading_num_layers + 1);
}

}  // namespace

std::optional<Violation> check_sizes(const Model& model, const Job& job, const Layout& layout,
                                     int gpus) {
  if (gpus != 0 && world_size(layout) != gpus) {
    return violated(Rule::world_size_equals_gpus, world_size(layout), gpus);
  }
  if (auto found = check_tensor(model, job, layout)) return found;
  const int micro_batches = num_micro_batches(job.global_batch_size, layout);
  if (auto found = check_pipeline(model, layout, micro_batches)) return found;
  if (auto found = must_divide(Rule::batch_divides_by_micro_batch_times_data, job.global_batch_size,
                               std::int64_t{layout.micro_batch_size} * layout.data_parallel_size)) {
    return found;
  }
  if (auto found = check_context(model, job, layout)) return found;
  return check_experts(model, layout);
}

std::optional<Violation> check_data_switches(const Layout& layout) {
  if (auto found = check_zero(layout)) return found;
  return check_overlap(layout);
}

std::optional<Violation> check_stage_switches(const Model& model, const Layout& layout) {
  if (layout.tp_comm_overlap && !layout.sequence_parallel) {
    return violated(Rule::tp_comm_overlap_needs_sequence_parallel, 1, 0);
  }
  return check_stage_layers(layout, split_of(model, layout).smallest);
}

std::optional<Violation> check_layout(const Model& model, const Job& job, const Layout& layout,
                                      int gpus) {
  if (auto found = check_sizes(model, job, layout, gpus)) return found;
  if (auto found = check_data_switches(layout)) return found;
  return check_stage_switches(model, layout);
}

}  // namespace meshwright
