// SPDX-License-Identifier: Apache-2.0
// Ranks in all, tensor and sequence parallel. "arguments.py" is Megatron-LM's
// megatron/training/arguments.py, "transformer_config.py" its megatron/core/transformer one.
#pragma once

#include "sim/block/recurrent.h"
#include "sim/rules/rule_row.h"

namespace meshwright {

inline CheckResult dense_mlp_columns(const RuleInput& in) {
  if (!has_dense_mlp(in.model)) return std::nullopt;
  return must_divide(in.model.ffn_hidden_size, in.layout.tensor_parallel_size);
}

inline constexpr RuleRow kTensorRules[]{
    {.name = "world_size_equals_gpus",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       if (in.devices.gpus == 0 || world_size(in.layout) == in.devices.gpus) return std::nullopt;
       return missed(world_size(in.layout), in.devices.gpus);
     },
     .requirement = "tensor x pipeline x data x context size must equal the number of GPUs.",
     .reason = "Every GPU runs exactly one rank, and the expert mesh lies over the same ranks "
               "(Megatron-LM arguments.py derives the data-parallel size from this product).",
     .remedy = "Set data_parallel_size to GPUs / (tensor x pipeline x context size).",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           const Layout& l = in.layout;
           return fmt::format(
               "tensor_parallel_size {} x pipeline_parallel_size {} x data_parallel_size {} x "
               "context_parallel_size {} is {} ranks, there are {} GPUs",
               l.tensor_parallel_size, l.pipeline_parallel_size, l.data_parallel_size,
               l.context_parallel_size, whole(m.needed), whole(m.available));
         }},
    {.name = "attention_heads_divide_by_tensor_size",
     .part = RulePart::sizes,
     .check =
         [](const RuleInput& in) {
           return must_divide(in.model.num_attention_heads, in.layout.tensor_parallel_size);
         },
     .requirement = "num_attention_heads must be a multiple of tensor_parallel_size.",
     .reason = "Attention is split by whole heads (Megatron-LM, arXiv 1909.08053, section 3; "
               "asserted in transformer_config.py).",
     .remedy = "Use a tensor_parallel_size that divides the number of heads.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return not_divisible("num_attention_heads", in.model.num_attention_heads,
                                "tensor_parallel_size", in.layout.tensor_parallel_size);
         }},
    {.name = "output_groups_divide_by_tensor_size",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       if (!in.model.compressed_attention) return std::nullopt;
       return must_divide(in.model.compressed_attention->o_groups, in.layout.tensor_parallel_size);
     },
     .requirement = "o_groups must be a multiple of tensor_parallel_size.",
     .reason = "Each group of heads has an output product of its own, whole on one rank "
               "(DeepSeek-V4, grouped output projection).",
     .remedy = "Use a tensor_parallel_size that divides o_groups.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return not_divisible("o_groups", in.model.compressed_attention->o_groups,
                                "tensor_parallel_size", in.layout.tensor_parallel_size);
         }},
    {.name = "query_groups_divide_by_tensor_size",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const int tp = in.layout.tensor_parallel_size, groups = in.model.num_query_groups;
       if (in.model.num_attention_heads == 0) return std::nullopt;
       if (groups % tp == 0 || tp % groups == 0) return std::nullopt;
       return missed(tp, groups);
     },
     .requirement = "num_query_groups must be a multiple of tensor_parallel_size, or divide it.",
     .reason = "Each rank holds whole key-value heads; with fewer groups than ranks each group is "
               "shared by the same number of ranks (Megatron-LM core/transformer/attention.py).",
     .remedy = "Use a tensor_parallel_size that divides num_query_groups or is a multiple of it.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format(
               "num_query_groups {} is neither a multiple nor a divisor of tensor_parallel_size {}",
               in.model.num_query_groups, in.layout.tensor_parallel_size);
         }},
    {.name = "linear_attention_heads_divide",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const auto mixer = recurrent_mixer(in.model);
       if (!mixer) return std::nullopt;
       return must_divide(mixer->heads,
                          in.layout.tensor_parallel_size * in.layout.context_parallel_size);
     },
     .requirement = "The heads of a recurrent mixer (linear_num_key_heads, mamba_num_heads, "
                    "kda_num_heads, ...) must be a multiple of tensor x context size.",
     .reason = "A scan runs over whole sequences of whole heads: tensor ranks and context ranks "
               "share the heads (Megatron-LM transformer_config.py).",
     .remedy = "Use sizes whose product divides the heads of the recurrent mixer.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format(
               "{} {} is not divisible by tensor_parallel_size {} x context_parallel_size {}",
               recurrent_mixer(in.model)->heads_name, whole(m.available),
               in.layout.tensor_parallel_size, in.layout.context_parallel_size);
         }},
    {.name = "state_space_groups_divide",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const auto mixer = recurrent_mixer(in.model);
       if (!mixer || mixer->groups == 0) return std::nullopt;
       return must_divide(mixer->groups, in.layout.tensor_parallel_size);
     },
     .requirement = "mamba_num_groups must be a multiple of tensor_parallel_size.",
     .reason = "Each rank has whole groups of heads, which share what enters and leaves a state "
               "(Megatron-LM core/ssm/mamba_mixer.py asserts it).",
     .remedy = "Use a tensor_parallel_size that divides mamba_num_groups.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format("mamba_num_groups {} is not divisible by tensor_parallel_size {}",
                              whole(m.available), in.layout.tensor_parallel_size);
         }},
    {.name = "ffn_divides_by_tensor_size",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       if (const CheckResult result = dense_mlp_columns(in)) return result;
       if (!in.model.moe) return std::nullopt;
       return must_divide(in.model.moe->moe_shared_expert_intermediate_size,
                          in.layout.tensor_parallel_size);
     },
     .requirement = "ffn_hidden_size (and the shared expert's width) must be a multiple of "
                    "tensor_parallel_size.",
     .reason = "The MLP's first weight is cut by columns and its second by rows into equal pieces "
               "(arXiv 1909.08053, section 3).",
     .remedy = "Use a tensor_parallel_size that divides the width of the MLP.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return not_divisible(
               dense_mlp_columns(in) ? "ffn_hidden_size" : "moe_shared_expert_intermediate_size",
               whole(m.available), "tensor_parallel_size", in.layout.tensor_parallel_size);
         }},
    {.name = "hidden_divides_by_tensor_size",
     .part = RulePart::sizes,
     .check =
         [](const RuleInput& in) {
           return must_divide(in.model.hidden_size, in.layout.tensor_parallel_size);
         },
     .requirement = "hidden_size must be a multiple of tensor_parallel_size.",
     .reason = "Projections whose output is the hidden size are cut into equal pieces (Megatron-LM "
               "core/utils.py divide).",
     .remedy = "Use a tensor_parallel_size that divides hidden_size.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return not_divisible("hidden_size", in.model.hidden_size, "tensor_parallel_size",
                                in.layout.tensor_parallel_size);
         }},
    {.name = "sequence_divides_by_sequence_parallel_size",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       if (!l.sequence_parallel) return std::nullopt;
       return must_divide(in.job.seq_length,
                          std::int64_t{l.tensor_parallel_size} * l.context_parallel_size);
     },
     .requirement = "With sequence_parallel, seq_length must be a multiple of tensor x context "
                    "size.",
     .reason = "Between the tensor-parallel regions each rank holds an equal run of positions "
               "(Korthikanti 2022, arXiv 2205.05198, section 4.2.2).",
     .remedy = "Use a smaller tensor or context size, a longer sequence, or no sequence_parallel.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format(
               "seq_length {} is not divisible by tensor_parallel_size {} x context_parallel_size "
               "{} with sequence_parallel on",
               in.job.seq_length, in.layout.tensor_parallel_size, in.layout.context_parallel_size);
         }},
    {.name = "sequence_parallel_needs_tensor_parallel",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       if (!in.layout.sequence_parallel) return std::nullopt;
       return must_be_at_least(in.layout.tensor_parallel_size, 2);
     },
     .requirement = "sequence_parallel needs tensor_parallel_size > 1.",
     .reason = "It divides the sequence over the tensor-parallel ranks; with one there is nothing "
               "to divide (Megatron-LM arguments.py turns it off).",
     .remedy = "Leave sequence_parallel off, or raise tensor_parallel_size.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("sequence_parallel is on with tensor_parallel_size {}",
                              in.layout.tensor_parallel_size);
         }},
};

}  // namespace meshwright
