// SPDX-License-Identifier: Apache-2.0
// Mixture of experts.
#pragma once

#include "sim/rules/rule_row.h"

namespace meshwright {

inline constexpr RuleRow kExpertRules[]{
    {.name = "experts_divide_by_expert_size",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       if (!in.model.moe) return std::nullopt;
       return must_divide(in.model.moe->num_moe_experts, in.layout.expert_parallel_size);
     },
     .requirement = "num_moe_experts must be a multiple of expert_parallel_size.",
     .reason = "Each expert rank holds the same number of whole experts (Megatron-LM "
               "transformer_config.py).",
     .remedy = "Use an expert_parallel_size that divides the number of experts.",
     .sentence =
         [](const RuleInput&, const Missed& m) {
           return not_divisible("num_moe_experts", whole(m.available), "expert_parallel_size",
                                whole(m.needed));
         }},
    {.name = "expert_parallel_needs_experts",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       if (in.model.moe) return std::nullopt;
       if (l.expert_parallel_size > 1) return missed(l.expert_parallel_size, 0);
       const int etp = expert_tensor_size(l);
       return etp == l.tensor_parallel_size ? CheckResult{} : missed(etp, 0);
     },
     .requirement = "expert_parallel_size > 1 or an expert_tensor_parallel_size of its own needs a "
                    "mixture-of-experts model.",
     .reason = "A dense model has no experts to place (Megatron-LM arguments.py).",
     .remedy = "Set expert_parallel_size to 1 and expert_tensor_parallel_size to 0.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format(
               "expert_parallel_size is {} and expert_tensor_parallel_size {}, but the model has "
               "no experts",
               in.layout.expert_parallel_size, expert_tensor_size(in.layout));
         }},
    {.name = "expert_mesh_divides_world",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       if (!in.model.moe) return std::nullopt;
       return must_divide(
           std::int64_t{l.tensor_parallel_size} * l.data_parallel_size * l.context_parallel_size,
           std::int64_t{expert_tensor_size(l)} * l.expert_parallel_size);
     },
     .requirement = "tensor x data x context size must be a multiple of expert tensor x expert "
                    "size.",
     .reason = "The expert mesh covers the ranks of one pipeline stage a whole number of times "
               "(Megatron-LM core/parallel_state.py).",
     .remedy = "Use smaller expert sizes, or more data-parallel ranks.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           const Layout& l = in.layout;
           return fmt::format(
               "tensor_parallel_size {} x data_parallel_size {} x context_parallel_size {} is {}, "
               "not divisible by expert_tensor_parallel_size {} x expert_parallel_size {}",
               l.tensor_parallel_size, l.data_parallel_size, l.context_parallel_size,
               whole(m.available), expert_tensor_size(l), l.expert_parallel_size);
         }},
    {.name = "expert_ffn_divides_by_expert_tensor_size",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       if (!in.model.moe) return std::nullopt;
       return must_divide(in.model.moe->moe_ffn_hidden_size, expert_tensor_size(in.layout));
     },
     .requirement = "moe_ffn_hidden_size must be a multiple of expert_tensor_parallel_size.",
     .reason = "Each expert's MLP is cut into equal pieces, as a dense MLP is by the tensor size.",
     .remedy = "Use an expert_tensor_parallel_size that divides it, such as 1.",
     .sentence =
         [](const RuleInput&, const Missed& m) {
           return not_divisible("moe_ffn_hidden_size", whole(m.available),
                                "expert_tensor_parallel_size", whole(m.needed));
         }},
    {.name = "experts_with_tensor_parallel_need_sequence_parallel",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       if (!in.model.moe || l.tensor_parallel_size == 1 || l.sequence_parallel) {
         return std::nullopt;
       }
       return missed(1, 0);
     },
     .requirement = "A mixture-of-experts model with tensor_parallel_size > 1 needs "
                    "sequence_parallel.",
     .reason = "Otherwise every tensor rank would route and dispatch the same tokens again "
               "(Megatron-LM core/transformer/moe/moe_layer.py refuses to train so).",
     .remedy = "Turn sequence_parallel on, or set tensor_parallel_size to 1.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format(
               "sequence_parallel is off with tensor_parallel_size {} and a model with experts",
               in.layout.tensor_parallel_size);
         }},
};

}  // namespace meshwright
