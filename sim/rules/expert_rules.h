// SPDX-License-Identifier: Apache-2.0
// Mixture of experts.
#pragma once

#include "sim/rules/rule_row.h"
#include "sim/schedule/traits.h"

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
    {.name = "token_overlap_needs_sent_tokens",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       if (!l.overlap_moe_expert_parallel_comm) return std::nullopt;
       if (l.moe_token_dispatcher_type == MoeTokenDispatcherType::allgather) return missed(1, 0);
       return must_be_at_least(l.expert_parallel_size, 2);
     },
     .requirement = "overlap_moe_expert_parallel_comm needs expert_parallel_size > 1 and the "
                    "alltoall or flex dispatcher.",
     .reason = "It hides what tokens wait for on their way to other ranks (Megatron-LM "
               "transformer_config.py).",
     .remedy = "Turn overlap_moe_expert_parallel_comm off.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format(
               "overlap_moe_expert_parallel_comm is on with expert_parallel_size {} and "
               "moe_token_dispatcher_type {}",
               in.layout.expert_parallel_size, name_of(in.layout.moe_token_dispatcher_type));
         }},
    {.name = "token_overlap_needs_virtual_stages",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       const bool pairs = l.pipeline_parallel_size == 1 || traits(l.schedule).pairs_passes;
       if (!l.overlap_moe_expert_parallel_comm || pairs) return std::nullopt;
       return must_be_at_least(l.virtual_pipeline_parallel_size, 2);
     },
     .requirement = "overlap_moe_expert_parallel_comm with a pipeline needs virtual stages, or "
                    "DualPipe.",
     .reason = "Forward and backward of two micro-batches meet on a stage where chunks are "
               "interleaved (Megatron-LM transformer_config.py).",
     .remedy = "Set virtual_pipeline_parallel_size to 2 or more.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format(
               "overlap_moe_expert_parallel_comm is on with pipeline_parallel_size {} and "
               "virtual_pipeline_parallel_size {}",
               in.layout.pipeline_parallel_size, whole(m.available));
         }},
    {.name = "token_overlap_forbids_recomputed_experts",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       if (!l.overlap_moe_expert_parallel_comm) return std::nullopt;
       const bool modules = recomputes_module(l, kRecomputeMoe);
       const bool full = l.recompute_granularity == RecomputeGranularity::full;
       return full || modules ? missed(0, 1) : CheckResult{};
     },
     .requirement = "overlap_moe_expert_parallel_comm forbids full recompute and recompute of "
                    "layers with experts.",
     .reason = "Tokens would be sent again in backward (Megatron-LM transformer_config.py).",
     .remedy = "Recompute other modules, or turn overlap_moe_expert_parallel_comm off.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("overlap_moe_expert_parallel_comm is on with {} recompute",
                              name_of(in.layout.recompute_granularity));
         }},
    {.name = "token_overlap_forbids_shared_expert_overlap",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       const bool both = l.overlap_moe_expert_parallel_comm && l.moe_shared_expert_overlap;
       return both ? missed(0, 1) : CheckResult{};
     },
     .requirement = "overlap_moe_expert_parallel_comm and moe_shared_expert_overlap exclude each "
                    "other.",
     .reason = "Both fill the time in which tokens travel (Megatron-LM transformer_config.py).",
     .remedy = "Turn one of them off.",
     .sentence =
         [](const RuleInput&, const Missed&) {
           return std::string(
               "overlap_moe_expert_parallel_comm and moe_shared_expert_overlap are both on");
         }},
    {.name = "delay_wgrad_compute_needs_token_overlap",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       const bool alone = l.delay_wgrad_compute && !l.overlap_moe_expert_parallel_comm;
       return alone ? missed(1, 0) : CheckResult{};
     },
     .requirement = "delay_wgrad_compute needs overlap_moe_expert_parallel_comm.",
     .reason = "Weight gradients fill the time in which another micro-batch's tokens travel "
               "(Megatron-LM transformer_config.py).",
     .remedy = "Turn overlap_moe_expert_parallel_comm on, or delay_wgrad_compute off.",
     .sentence =
         [](const RuleInput&, const Missed&) {
           return std::string("delay_wgrad_compute is on without overlap_moe_expert_parallel_comm");
         }},
    {.name = "flex_dispatcher_needs_fast_links",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       const bool flex = l.moe_token_dispatcher_type == MoeTokenDispatcherType::flex;
       if (!in.model.moe || !flex || l.expert_parallel_size == 1) return std::nullopt;
       return in.devices.fast_domain == 1 ? CheckResult{missed(2, 1)} : std::nullopt;
     },
     .requirement = "The flex dispatcher needs devices that NVLink joins.",
     .reason = "DeepEP and HybridEP hand tokens on inside a node through other devices' memory, "
               "mapped over NVLink (deepseek-ai/DeepEP README; its branch hybrid-ep).",
     .remedy = "Use the alltoall dispatcher.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("moe_flex_dispatcher_backend is {}, and PCIe alone joins the devices",
                              name_of(in.layout.moe_flex_dispatcher_backend));
         }},
    {.name = "deepep_needs_domains_of_eight",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       const bool deepep = l.moe_token_dispatcher_type == MoeTokenDispatcherType::flex &&
                           l.moe_flex_dispatcher_backend == MoeFlexDispatcherBackend::deepep;
       if (!in.model.moe || !deepep || l.expert_parallel_size == 1) return std::nullopt;
       constexpr int kMost = 8;
       return in.devices.fast_domain > kMost ? CheckResult{missed(kMost, in.devices.fast_domain)}
                                             : std::nullopt;
     },
     .requirement = "moe_flex_dispatcher_backend deepep needs NVLink domains of at most 8 devices.",
     .reason = "DeepEP's buffers know nodes of 8; Megatron Bridge takes it on Ampere, Hopper, B200 "
               "and B300, hybridep also on GB200 and GB300 (training/flex_dispatcher_backend.py).",
     .remedy = "Use hybridep, or the alltoall dispatcher.",
     .sentence =
         [](const RuleInput&, const Missed& m) {
           return fmt::format("deepep is asked for, and NVLink joins {} devices",
                              whole(m.available));
         }},
    {.name = "fp8_dispatch_needs_library_that_sends_it",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const bool asked = in.job.moe_dispatch_fwd_dtype == Precision::fp8 ||
                          in.job.moe_combine_bwd_dtype == Precision::fp8;
       if (!in.model.moe || !asked || in.layout.expert_parallel_size == 1) return std::nullopt;
       if (in.layout.moe_token_dispatcher_type != MoeTokenDispatcherType::flex) return missed(1, 0);
       const Framework* framework = in.devices.framework;
       if (framework == nullptr || framework->name.empty()) return std::nullopt;
       const auto backend = static_cast<std::size_t>(in.layout.moe_flex_dispatcher_backend);
       return framework->experts.sends_fp8[backend] ? std::nullopt : CheckResult{missed(1, 0)};
     },
     .requirement = "moe_dispatch_fwd_dtype and moe_combine_bwd_dtype fp8 need a flex dispatcher "
                    "whose library sends fp8 in this framework.",
     .reason =
         "Megatron-LM passes bf16 to DeepEP and HybridEP, also in fp8 training; NCCL EP sends "
         "MXFP8 (core/transformer/moe/fused_a2a.py, transformer_config.py).",
     .remedy = "Use moe_flex_dispatcher_backend ncclep, or send bf16.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format(
               "tokens are to travel in fp8 with moe_token_dispatcher_type {} and "
               "moe_flex_dispatcher_backend {}",
               name_of(in.layout.moe_token_dispatcher_type),
               name_of(in.layout.moe_flex_dispatcher_backend));
         }},
    {.name = "whole_step_graph_needs_fixed_sizes",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       const bool varies = in.model.moe && in.model.moe->moe_expert_capacity_factor == 0.0 &&
                           l.expert_parallel_size > 1;
       if (l.cuda_graph_impl != CudaGraphImpl::full_iteration || !varies) return std::nullopt;
       const bool fixed = l.moe_token_dispatcher_type == MoeTokenDispatcherType::flex &&
                          l.moe_flex_dispatcher_backend != MoeFlexDispatcherBackend::deepep;
       return fixed ? CheckResult{} : missed(1, 0);
     },
     .requirement = "cuda_graph_impl full_iteration with experts that drop nothing needs the flex "
                    "dispatcher with hybridep or ncclep.",
     .reason = "A graph cannot wait for the counts of tokens; these two fill buffers of a fixed "
               "size (Megatron-LM moe_expert_rank_capacity_factor).",
     .remedy = "Use hybridep, or graphs of transformer_engine.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format(
               "cuda_graph_impl is full_iteration with moe_token_dispatcher_type {} and "
               "moe_flex_dispatcher_backend {}",
               name_of(in.layout.moe_token_dispatcher_type),
               name_of(in.layout.moe_flex_dispatcher_backend));
         }},
};

}  // namespace meshwright
