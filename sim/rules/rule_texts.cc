// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "sim/rules/rules.h"

namespace meshwright {
namespace {

// In the order of the enumeration; rule_text indexes it. "arguments.py" is Megatron-LM's
// megatron/training/arguments.py, "transformer_config.py" its megatron/core/transformer one.
constexpr std::array<RuleText, kNumRules> kTexts{{
    {Rule::world_size_equals_gpus, "world_size_equals_gpus",
     "tensor x pipeline x data x context size must equal the number of GPUs.",
     "Every GPU runs exactly one rank, and the expert mesh lies over the same ranks (Megatron-LM "
     "arguments.py derives the data-parallel size from this product).",
     "Set data_parallel_size to GPUs / (tensor x pipeline x context size)."},
    {Rule::attention_heads_divide_by_tensor_size, "attention_heads_divide_by_tensor_size",
     "num_attention_heads must be a multiple of tensor_parallel_size.",
     "Attention is split by whole heads (Megatron-LM, arXiv 1909.08053, section 3; asserted in "
     "transformer_config.py).",
     "Use a tensor_parallel_size that divides the number of heads."},
    {Rule::query_groups_divide_by_tensor_size, "query_groups_divide_by_tensor_size",
     "num_query_groups must be a multiple of tensor_parallel_size, or divide it.",
     "Each rank holds whole key-value heads; with fewer groups than ranks each group is shared by "
     "the same number of ranks (Megatron-LM core/transformer/attention.py).",
     "Use a tensor_parallel_size that divides num_query_groups or is a multiple of it."},
    {Rule::ffn_divides_by_tensor_size, "ffn_divides_by_tensor_size",
     "ffn_hidden_size (and the shared expert's width) must be a multiple of tensor_parallel_size.",
     "The MLP's first weight is cut by columns and its second by rows into equal pieces "
     "(arXiv 1909.08053, section 3).",
     "Use a tensor_parallel_size that divides the width of the MLP."},
    {Rule::hidden_divides_by_tensor_size, "hidden_divides_by_tensor_size",
     "hidden_size must be a multiple of tensor_parallel_size.",
     "Projections whose output is the hidden size are cut into equal pieces (Megatron-LM "
     "core/utils.py divide).",
     "Use a tensor_parallel_size that divides hidden_size."},
    {Rule::sequence_divides_by_sequence_parallel_size, "sequence_divides_by_sequence_parallel_size",
     "With sequence_parallel, seq_length must be a multiple of tensor x context size.",
     "Between the tensor-parallel regions each rank holds an equal run of positions "
     "(Korthikanti 2022, arXiv 2205.05198, section 4.2.2).",
     "Use a smaller tensor or context size, a longer sequence, or no sequence_parallel."},
    {Rule::sequence_parallel_needs_tensor_parallel, "sequence_parallel_needs_tensor_parallel",
     "sequence_parallel needs tensor_parallel_size > 1.",
     "It divides the sequence over the tensor-parallel ranks; with one there is nothing to divide "
     "(Megatron-LM arguments.py turns it off).",
     "Leave sequence_parallel off, or raise tensor_parallel_size."},
    {Rule::layers_divide_by_pipeline_size, "layers_divide_by_pipeline_size",
     "The layers that are not given to the first or last stage, embedding and loss counted where "
     "the "
     "layout says so, must divide evenly over the other stages.",
     "Stages are even unless told otherwise (Megatron-LM arguments.py). With pipeline_engine "
     "nanotron, costs decide, and each stage must come out with a block (models/base.py).",
     "Use a pipeline_parallel_size that divides num_layers, or set "
     "num_layers_in_first_pipeline_stage or num_layers_in_last_pipeline_stage."},
    {Rule::layers_divide_by_virtual_pipeline_size, "layers_divide_by_virtual_pipeline_size",
     "The layers of each stage must be a multiple of virtual_pipeline_parallel_size.",
     "A stage's model chunks are equal (Narayanan 2021, arXiv 2104.04473, section 2.2; "
     "arguments.py).",
     "Use a virtual_pipeline_parallel_size that divides the layers of a stage."},
    {Rule::interleaving_needs_pipeline, "interleaving_needs_pipeline",
     "Interleaving needs pipeline_parallel_size > 1, and > 2 unless overlap_p2p_comm is on.",
     "With one stage there is nothing to interleave; with two and no overlap the same two ranks "
     "would exchange several messages in one batch (Megatron-LM arguments.py).",
     "Set virtual_pipeline_parallel_size to 1, use more stages, or turn overlap_p2p_comm on."},
    {Rule::interleaving_needs_micro_batches_multiple_of_pipeline,
     "interleaving_needs_micro_batches_multiple_of_pipeline",
     "With the interleaved schedule, the number of micro-batches must be a multiple of "
     "pipeline_parallel_size.",
     "Micro-batches pass through the chunks in groups of one per stage (Narayanan 2021, "
     "arXiv 2104.04473, section 2.2).",
     "Change micro_batch_size, data_parallel_size or the global batch so that it is."},
    {Rule::schedule_needs_pipeline, "schedule_needs_pipeline",
     "The schedules zb_h1, zb_h2, zb_v and dualpipe need pipeline_parallel_size > 1.",
     "They fill the bubble between stages; one stage has none (Qi 2023, arXiv 2401.10241).",
     "Use schedule 1f1b, or more stages."},
    {Rule::schedule_fixes_virtual_size, "schedule_fixes_virtual_size",
     "virtual_pipeline_parallel_size must be 2 for zb_v and dualpipe, at least 2 for interleaved, "
     "and 1 for every other schedule.",
     "ZB-V folds the model so that each stage holds two chunks (arXiv 2405.15362), DualPipe holds "
     "one chunk of each direction (arXiv 2412.19437); only the interleaved schedule has a free "
     "number.",
     "Set virtual_pipeline_parallel_size as the schedule needs, or choose another schedule."},
    {Rule::schedule_needs_micro_batches, "schedule_needs_micro_batches",
     "The number of micro-batches must be at least p for zb_h1, 2p-1 for zb_h2, 2p for zb_v, and "
     "even and at least 2p for dualpipe, with p stages; p-1 for 1f1b with pipeline_engine "
     "nanotron.",
     "With fewer, the warm-up does not fill: ZB-H2 keeps 2p-1 micro-batches in flight "
     "(arXiv 2401.10241), a V schedule fills two chunks a stage (arXiv 2405.15362), DualPipe feeds "
     "half of them from each end (deepseek-ai/DualPipe README).",
     "Use smaller micro-batches, fewer stages or data ranks, or schedule 1f1b."},
    {Rule::dualpipe_needs_even_pipeline, "dualpipe_needs_even_pipeline",
     "dualpipe needs an even pipeline_parallel_size.",
     "Stage r and stage p-1-r hold the same two chunks, so stages come in pairs "
     "(deepseek-ai/DualPipe README).",
     "Use an even number of stages."},
    {Rule::uneven_stages_leave_layers_for_the_rest, "uneven_stages_leave_layers_for_the_rest",
     "num_layers_in_first_pipeline_stage and num_layers_in_last_pipeline_stage must leave at least "
     "one layer for each other stage, and exactly none when there is no other stage.",
     "Every stage holds at least one layer, and all layers are held (Megatron-LM arguments.py).",
     "Give fewer layers to the first and last stage, or use fewer stages."},
    {Rule::one_way_of_uneven_stages, "one_way_of_uneven_stages",
     "num_layers_in_first_pipeline_stage and num_layers_in_last_pipeline_stage exclude "
     "account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split; "
     "pipeline_engine nanotron excludes all four.",
     "They are answers to the same question (Megatron-LM arguments.py; Nanotron models/base.py).",
     "Keep one of them."},
    {Rule::batch_divides_by_micro_batch_times_data, "batch_divides_by_micro_batch_times_data",
     "global_batch_size must be a multiple of micro_batch_size x data_parallel_size.",
     "Every data-parallel rank works through the same whole number of micro-batches (Megatron-LM "
     "core/num_microbatches_calculator.py; DeepSpeed runtime/config.py).",
     "Change micro_batch_size, data_parallel_size or the global batch."},
    {Rule::sequence_divides_by_context_size, "sequence_divides_by_context_size",
     "With context parallelism, seq_length must be a multiple of 2 x context_parallel_size.",
     "Each rank takes one piece from the front and one from the back, so that causal attention is "
     "balanced (Megatron-LM arguments.py).",
     "Use a smaller context_parallel_size, or pad the sequence."},
    {Rule::ulysses_heads_divide_by_context_size, "ulysses_heads_divide_by_context_size",
     "With cp_comm_type a2a, the heads and key-value heads of one tensor rank must be a multiple "
     "of "
     "context_parallel_size (a2a+p2p: of hierarchical_context_parallel_size).",
     "The all-to-all trades a piece of the sequence for whole heads (DeepSpeed-Ulysses, "
     "arXiv 2309.14509; TransformerEngine).",
     "Use cp_comm_type p2p, or a smaller context or tensor size."},
    {Rule::hierarchical_context_size_divides, "hierarchical_context_size_divides",
     "With cp_comm_type a2a+p2p, hierarchical_context_parallel_size must be at least 1 and divide "
     "context_parallel_size.",
     "It is the size of the all-to-all groups; the ring runs over the rest (Megatron-LM "
     "--hierarchical-context-parallel-sizes).",
     "Set it to a divisor of context_parallel_size, such as the GPUs of a node."},
    {Rule::experts_divide_by_expert_size, "experts_divide_by_expert_size",
     "num_moe_experts must be a multiple of expert_parallel_size.",
     "Each expert rank holds the same number of whole experts (Megatron-LM "
     "transformer_config.py).",
     "Use an expert_parallel_size that divides the number of experts."},
    {Rule::expert_parallel_needs_experts, "expert_parallel_needs_experts",
     "expert_parallel_size > 1 or an expert_tensor_parallel_size of its own needs a "
     "mixture-of-experts model.",
     "A dense model has no experts to place (Megatron-LM arguments.py).",
     "Set expert_parallel_size to 1 and expert_tensor_parallel_size to 0."},
    {Rule::expert_mesh_divides_world, "expert_mesh_divides_world",
     "tensor x data x context size must be a multiple of expert tensor x expert size.",
     "The expert mesh covers the ranks of one pipeline stage a whole number of times (Megatron-LM "
     "core/parallel_state.py).",
     "Use smaller expert sizes, or more data-parallel ranks."},
    {Rule::expert_ffn_divides_by_expert_tensor_size, "expert_ffn_divides_by_expert_tensor_size",
     "moe_ffn_hidden_size must be a multiple of expert_tensor_parallel_size.",
     "Each expert's MLP is cut into equal pieces, as a dense MLP is by the tensor size.",
     "Use an expert_tensor_parallel_size that divides it, such as 1."},
    {Rule::experts_with_tensor_parallel_need_sequence_parallel,
     "experts_with_tensor_parallel_need_sequence_parallel",
     "A mixture-of-experts model with tensor_parallel_size > 1 needs sequence_parallel.",
     "Otherwise every tensor rank would route and dispatch the same tokens again (Megatron-LM "
     "core/transformer/moe/moe_layer.py refuses to train so).",
     "Turn sequence_parallel on, or set tensor_parallel_size to 1."},
    {Rule::zero_shard_size_divides_data, "zero_shard_size_divides_data",
     "zero_shard_size must divide data x context size.",
     "Hybrid sharding keeps a whole copy in each shard group, and the groups are equal (PyTorch "
     "HSDP; Megatron-LM --num-distributed-optimizer-instances).",
     "Use a divisor of data x context size, or 0 for all ranks."},
    {Rule::zero_2_3_forbids_pipeline, "zero_2_3_forbids_pipeline",
     "zero_stage 2 and 3 need pipeline_parallel_size 1.",
     "Sharded gradients or weights would be reduced or gathered again for every micro-batch of a "
     "pipeline; DeepSpeed (runtime/pipe/engine.py) and PyTorch FSDP2 in Megatron-LM (arguments.py) "
     "refuse it.",
     "Use zero_stage 1 with a pipeline, or pipeline_parallel_size 1."},
    {Rule::overlap_param_gather_needs_overlap_grad_reduce,
     "overlap_param_gather_needs_overlap_grad_reduce",
     "overlap_param_gather needs overlap_grad_reduce.",
     "Both work on the same buckets, which only exist when gradients are reduced as they appear "
     "(Megatron-LM arguments.py).",
     "Turn overlap_grad_reduce on as well."},
    {Rule::overlap_param_gather_needs_sharded_optimizer,
     "overlap_param_gather_needs_sharded_optimizer",
     "overlap_param_gather needs zero_stage 1 or more.",
     "Without a sharded optimizer there are no parameters to gather (Megatron-LM arguments.py).",
     "Set zero_stage to 1, or turn overlap_param_gather off."},
    {Rule::tp_comm_overlap_needs_sequence_parallel, "tp_comm_overlap_needs_sequence_parallel",
     "tp_comm_overlap needs sequence_parallel.",
     "It overlaps the all-gathers and reduce-scatters of sequence parallelism piece by piece with "
     "the matrix products (Megatron-LM arguments.py).",
     "Turn sequence_parallel on, or tp_comm_overlap off."},
    {Rule::recompute_layers_within_stage, "recompute_layers_within_stage",
     "With full recompute, recompute_num_layers must not exceed the layers of the smallest stage.",
     "It counts layers of one stage (Megatron-LM arguments.py).",
     "Lower recompute_num_layers, or set it to 0 for all layers."},
    {Rule::offloaded_layers_within_stage, "offloaded_layers_within_stage",
     "cpu_offloading_num_layers must be smaller than the layers of the smallest stage.",
     "The last layer's activations are needed at once, so moving them to the host gains nothing "
     "(Megatron-LM transformer_config.py).",
     "Lower cpu_offloading_num_layers."},
    {Rule::memory_capacity, "memory_capacity",
     "The fullest rank must fit into the device's memory, less the headroom that was asked for.",
     "A step that needs more ends in an out-of-memory error.",
     "Use a larger tensor or pipeline size, more ZeRO sharding, sequence_parallel, recompute, or a "
     "smaller micro-batch."},
}};

constexpr bool in_enumeration_order() {
  for (int i = 0; i < kNumRules; ++i) {
    if (static_cast<int>(kTexts[static_cast<std::size_t>(i)].rule) != i) return false;
  }
  return true;
}
static_assert(in_enumeration_order());

}  // namespace

std::span<const RuleText> all_rules() { return kTexts; }

const RuleText& rule_text(Rule rule) { return kTexts[static_cast<std::size_t>(rule)]; }

}  // namespace meshwright
