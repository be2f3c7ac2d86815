// SPDX-License-Identifier: Apache-2.0
// Batch and context parallel.
#pragma once

#include <algorithm>

#include "sim/rules/rule_row.h"

namespace meshwright {

// Ranks that trade pieces of the sequence for heads; 1: none do.
inline int all_to_all_ranks(const Layout& l) {
  if (l.context_parallel_size == 1) return 1;
  if (l.cp_comm_type == ContextParallelAlgorithm::a2a) return l.context_parallel_size;
  if (l.cp_comm_type != ContextParallelAlgorithm::a2a_p2p) return 1;
  return std::max(1, l.hierarchical_context_parallel_size);
}

inline constexpr RuleRow kBatchRules[]{
    {.name = "batch_divides_by_micro_batch_times_data",
     .part = RulePart::sizes,
     .check =
         [](const RuleInput& in) {
           return must_divide(in.job.global_batch_size, std::int64_t{in.layout.micro_batch_size} *
                                                            in.layout.data_parallel_size);
         },
     .requirement = "global_batch_size must be a multiple of micro_batch_size x "
                    "data_parallel_size.",
     .reason = "Every data-parallel rank works through the same whole number of micro-batches "
               "(Megatron-LM core/num_microbatches_calculator.py; DeepSpeed runtime/config.py).",
     .remedy = "Change micro_batch_size, data_parallel_size or the global batch.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format(
               "global_batch_size {} is not divisible by micro_batch_size {} x data_parallel_size "
               "{}",
               in.job.global_batch_size, in.layout.micro_batch_size, in.layout.data_parallel_size);
         }},
    {.name = "sequence_divides_by_context_size",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const int cp = in.layout.context_parallel_size;
       return cp == 1 ? std::nullopt : must_divide(in.job.seq_length, std::int64_t{2} * cp);
     },
     .requirement =
         "With context parallelism, seq_length must be a multiple of 2 x context_parallel_size.",
     .reason = "Each rank takes one piece from the front and one from the back, so that causal "
               "attention is balanced (Megatron-LM arguments.py).",
     .remedy = "Use a smaller context_parallel_size, or pad the sequence.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return not_divisible("seq_length", in.job.seq_length, "2 x context_parallel_size",
                                in.layout.context_parallel_size);
         }},
    {.name = "ulysses_heads_divide_by_context_size",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const int ranks = all_to_all_ranks(in.layout), tp = in.layout.tensor_parallel_size;
       if (in.model.num_attention_heads == 0) return std::nullopt;
       if (const CheckResult result = must_divide(in.model.num_attention_heads / tp, ranks))
         return result;
       return must_divide(std::max(1, in.model.num_query_groups / tp), ranks);
     },
     .requirement = "With cp_comm_type a2a, the heads and key-value heads of one tensor rank must "
                    "be a multiple of context_parallel_size (a2a+p2p: of "
                    "hierarchical_context_parallel_size).",
     .reason = "The all-to-all trades a piece of the sequence for whole heads (DeepSpeed-Ulysses, "
               "arXiv 2309.14509; TransformerEngine).",
     .remedy = "Use cp_comm_type p2p, or a smaller context or tensor size.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           const Layout& l = in.layout;
           const bool heads =
               in.model.num_attention_heads / l.tensor_parallel_size % whole(m.needed) != 0;
           return fmt::format(
               "{} {} over tensor_parallel_size {} leave {} per rank, not divisible by {} {}",
               heads ? "num_attention_heads" : "num_query_groups",
               heads ? in.model.num_attention_heads : in.model.num_query_groups,
               l.tensor_parallel_size, whole(m.available),
               l.cp_comm_type == ContextParallelAlgorithm::a2a
                   ? "context_parallel_size"
                   : "hierarchical_context_parallel_size",
               whole(m.needed));
         }},
    {.name = "hierarchical_context_size_divides",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const int cp = in.layout.context_parallel_size;
       if (cp == 1 || in.layout.cp_comm_type != ContextParallelAlgorithm::a2a_p2p) {
         return std::nullopt;
       }
       const int inner = in.layout.hierarchical_context_parallel_size;
       return inner < 1 ? CheckResult{missed(inner, cp)} : must_divide(cp, inner);
     },
     .requirement = "With cp_comm_type a2a+p2p, hierarchical_context_parallel_size must be at "
                    "least 1 and divide context_parallel_size.",
     .reason = "It is the size of the all-to-all groups; the ring runs over the rest (Megatron-LM "
               "--hierarchical-context-parallel-sizes).",
     .remedy = "Set it to a divisor of context_parallel_size, such as the GPUs of a node.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           if (m.needed < 1) {
             return fmt::format(
                 "hierarchical_context_parallel_size is {}, with cp_comm_type a2a+p2p it must be "
                 "at least 1",
                 in.layout.hierarchical_context_parallel_size);
           }
           return not_divisible("context_parallel_size", in.layout.context_parallel_size,
                                "hierarchical_context_parallel_size",
                                in.layout.hierarchical_context_parallel_size);
         }},
};

}  // namespace meshwright
