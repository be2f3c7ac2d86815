// SPDX-License-Identifier: Apache-2.0
// ZeRO and what of its communication overlaps; tensor-parallel overlap; recomputed and offloaded
// layers of a stage; memory.
#pragma once

#include "sim/base/units.h"
#include "sim/layout/fields.h"
#include "sim/rules/layer_split.h"
#include "sim/rules/rule_row.h"
#include "sim/schedule/traits.h"

namespace meshwright {

inline constexpr RuleRow kSwitchRules[]{
    {.name = "zero_shard_size_divides_data",
     .part = RulePart::data_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const int shard = in.layout.zero_shard_size;
       return shard == 0 ? std::nullopt : must_divide(gradient_group_size(in.layout), shard);
     },
     .requirement = "zero_shard_size must divide data x context size.",
     .reason = "Hybrid sharding keeps a whole copy in each shard group, and the groups are equal "
               "(PyTorch HSDP; Megatron-LM --num-distributed-optimizer-instances).",
     .remedy = "Use a divisor of data x context size, or 0 for all ranks.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format(
               "data_parallel_size {} x context_parallel_size {} is not divisible by "
               "zero_shard_size {}",
               in.layout.data_parallel_size, in.layout.context_parallel_size,
               in.layout.zero_shard_size);
         }},
    {.name = "zero_2_3_forbids_pipeline",
     .part = RulePart::data_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const int pp = in.layout.pipeline_parallel_size;
       if (in.layout.zero_stage < 2 || pp == 1 || uses_fsdp(in.layout)) return std::nullopt;
       return missed(1, pp);
     },
     .requirement = "zero_stage 2 and 3 need pipeline_parallel_size 1, but with fsdp_unit.",
     .reason = "Sharded gradients or weights would be reduced or gathered again for every "
               "micro-batch of a pipeline; DeepSpeed (runtime/pipe/engine.py) and PyTorch FSDP2 in "
               "Megatron-LM (arguments.py) refuse it.",
     .remedy = "Use zero_stage 1 with a pipeline, or pipeline_parallel_size 1; PyTorch FSDP "
               "(fsdp_unit) keeps a stage's parameters gathered for a step.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("zero_stage is {} with pipeline_parallel_size {}",
                              in.layout.zero_stage, in.layout.pipeline_parallel_size);
         }},
    {.name = "overlap_param_gather_needs_overlap_grad_reduce",
     .part = RulePart::data_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       if (!in.layout.overlap_param_gather || in.layout.overlap_grad_reduce) return std::nullopt;
       return missed(1, 0);
     },
     .requirement = "overlap_param_gather needs overlap_grad_reduce.",
     .reason = "Both work on the same buckets, which only exist when gradients are reduced as they "
               "appear (Megatron-LM arguments.py).",
     .remedy = "Turn overlap_grad_reduce on as well.",
     .sentence =
         [](const RuleInput&, const Missed&) {
           return std::string("overlap_param_gather is on, overlap_grad_reduce is off");
         }},
    {.name = "overlap_param_gather_needs_sharded_optimizer",
     .part = RulePart::data_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       if (!in.layout.overlap_param_gather || in.layout.zero_stage > 0) return std::nullopt;
       return missed(1, 0);
     },
     .requirement = "overlap_param_gather needs zero_stage 1 or more.",
     .reason = "Without a sharded optimizer there are no parameters to gather (Megatron-LM "
               "arguments.py).",
     .remedy = "Set zero_stage to 1, or turn overlap_param_gather off.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("overlap_param_gather is on with zero_stage {}",
                              in.layout.zero_stage);
         }},
    {.name = "tp_comm_overlap_needs_sequence_parallel",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       if (!in.layout.tp_comm_overlap || in.layout.sequence_parallel) return std::nullopt;
       return missed(1, 0);
     },
     .requirement = "tp_comm_overlap needs sequence_parallel.",
     .reason = "It overlaps the all-gathers and reduce-scatters of sequence parallelism piece by "
               "piece with the matrix products (Megatron-LM arguments.py).",
     .remedy = "Turn sequence_parallel on, or tp_comm_overlap off.",
     .sentence =
         [](const RuleInput&, const Missed&) {
           return std::string("tp_comm_overlap is on, sequence_parallel is off");
         }},
    {.name = "tp_comm_overlap_within_fast_domain",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const int joined = in.devices.fast_domain;
       const int tp = in.layout.tensor_parallel_size;
       if (!in.layout.tp_comm_overlap || joined == 0 || tp <= joined) return std::nullopt;
       return missed(tp, joined);
     },
     .requirement = "tp_comm_overlap needs a tensor group inside one node or NVLink domain.",
     .reason =
         "Its buffers are other devices' memory, mapped over NVLink: CUDA multicast or CUDA IPC "
         "(Transformer Engine, userbuffers; torch symmetric memory asks for the same).",
     .remedy = "Turn tp_comm_overlap off, or use a smaller tensor_parallel_size.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format(
               "tp_comm_overlap is on, tensor_parallel_size is {}, {} devices share "
               "fast links",
               in.layout.tensor_parallel_size, whole(m.available));
         }},
    {.name = "overlap_p2p_comm_needs_interleaving",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       const bool may = traits(l.schedule).may_overlap_sends || l.pipeline_parallel_size == 1;
       return l.overlap_p2p_comm && !may ? CheckResult{missed(1, 0)} : std::nullopt;
     },
     .requirement = "overlap_p2p_comm needs another schedule than plain 1f1b.",
     .reason = "Megatron-LM turns it off without interleaving (arguments.py): a stage has nothing "
               "else to run while its message is on the way.",
     .remedy = "Turn overlap_p2p_comm off, or interleave.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("overlap_p2p_comm is on with schedule {}",
                              name_of(in.layout.schedule));
         }},
    {.name = "offload_forbids_pipeline",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const int stages = in.layout.pipeline_parallel_size;
       if (in.layout.cpu_offloading_num_layers == 0 || stages == 1) return std::nullopt;
       return missed(1, stages);
     },
     .requirement = "cpu_offloading_num_layers needs pipeline_parallel_size 1.",
     .reason =
         "Layers are offloaded in the order of one forward and one backward pass (Megatron-LM "
         "transformer_config.py: no CPU offloading with pipeline parallelism).",
     .remedy = "Set cpu_offloading_num_layers to 0, or use no pipeline.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format("cpu_offloading_num_layers is {} with pipeline_parallel_size {}",
                              in.layout.cpu_offloading_num_layers, whole(m.available));
         }},
    {.name = "offload_forbids_recompute",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const bool recomputes = in.layout.recompute_granularity != RecomputeGranularity::none;
       if (in.layout.cpu_offloading_num_layers == 0 || !recomputes) return std::nullopt;
       return missed(0, 1);
     },
     .requirement = "cpu_offloading_num_layers needs recompute_granularity none.",
     .reason = "What is run again is not kept, so that there is nothing to offload (Megatron-LM "
               "transformer_config.py: no CPU offloading with activation recomputation).",
     .remedy = "Set cpu_offloading_num_layers to 0, or recompute_granularity to none.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("cpu_offloading_num_layers is {} with recompute_granularity {}",
                              in.layout.cpu_offloading_num_layers,
                              name_of(in.layout.recompute_granularity));
         }},
    {.name = "offload_modules_forbid_offloaded_layers",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const int layers = in.layout.cpu_offloading_num_layers;
       if (in.layout.offload_modules.bits == 0 || layers == 0) return std::nullopt;
       return missed(0, layers);
     },
     .requirement = "offload_modules needs cpu_offloading_num_layers 0.",
     .reason = "Modules are offloaded one by one or layers whole (Megatron-LM "
               "transformer_config.py: fine_grained_activation_offloading excludes "
               "cpu_offloading).",
     .remedy = "Set cpu_offloading_num_layers to 0, or leave offload_modules out.",
     .sentence =
         [](const RuleInput&, const Missed& m) {
           return fmt::format("cpu_offloading_num_layers is {} with offload_modules",
                              whole(m.available));
         }},
    {.name = "offload_attn_proj_needs_core_attn",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const OffloadModules& modules = in.layout.offload_modules;
       if (!modules.has(kOffloadAttentionProjection)) return std::nullopt;
       return modules.has(kOffloadCoreAttention) ? CheckResult{} : missed(1, 0);
     },
     .requirement = "offload_modules with attn_proj needs core_attn, too.",
     .reason = "The projection's input is the core attention's output, which its backward needs "
               "(Megatron-LM transformer_config.py).",
     .remedy = "Add core_attn to offload_modules, or take attn_proj out.",
     .sentence =
         [](const RuleInput&, const Missed&) {
           return std::string("offload_modules has attn_proj without core_attn");
         }},
    {.name = "offload_modules_outside_recomputed_experts",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const bool inside = in.layout.offload_modules.has(kOffloadExpertFc1 | kOffloadMoeActivation);
       return inside && recomputes_module(in.layout, kRecomputeMoe) ? CheckResult{missed(0, 1)}
                                                                    : std::nullopt;
     },
     .requirement = "offload_modules with expert_fc1 or moe_act excludes recompute_modules moe.",
     .reason = "A layer of experts that is run again whole keeps nothing inside (Megatron-LM "
               "transformer_config.py).",
     .remedy = "Take moe out of recompute_modules, or these modules out of offload_modules.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format(
               "offload_modules is {} with recompute_modules moe",
               value_text(field(&Layout::offload_modules, "").among({kOffloadModuleNames}),
                          in.layout.offload_modules));
         }},
    {.name = "recompute_layers_within_stage",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       if (l.recompute_granularity != RecomputeGranularity::full) return std::nullopt;
       return must_be_at_least(layers_of_smallest_stage(in.model, l), l.recompute_num_layers);
     },
     .requirement = "With full recompute, recompute_num_layers must not exceed the layers of the "
                    "smallest stage.",
     .reason = "It counts layers of one stage (Megatron-LM arguments.py).",
     .remedy = "Lower recompute_num_layers, or set it to 0 for all layers.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format("recompute_num_layers is {}, the smallest stage has {} layers",
                              in.layout.recompute_num_layers, whole(m.available));
         }},
    {.name = "recompute_layers_divide_by_chunks",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       const bool some = l.recompute_granularity == RecomputeGranularity::full &&
                         l.recompute_method == RecomputeMethod::block;
       if (!some || l.pipeline_engine != PipelineEngine::megatron) return std::nullopt;
       return must_divide(l.recompute_num_layers, l.virtual_pipeline_parallel_size);
     },
     .requirement =
         "With full recompute of some layers, recompute_num_layers must be a multiple of "
         "virtual_pipeline_parallel_size.",
     .reason = "Each chunk runs as many layers again (Megatron-LM transformer_block.py: "
               "recompute_num_layers counts layers of one chunk).",
     .remedy = "Use a multiple of virtual_pipeline_parallel_size, or 0 for all layers.",
     .sentence =
         [](const RuleInput&, const Missed& m) {
           return not_divisible("recompute_num_layers", whole(m.available),
                                "virtual_pipeline_parallel_size", whole(m.needed));
         }},
    {.name = "multi_token_prediction_recomputes_by_one",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       const bool uniform = l.recompute_granularity == RecomputeGranularity::full &&
                            l.recompute_method == RecomputeMethod::uniform;
       if (in.model.mtp_num_layers == 0 || !uniform) return std::nullopt;
       return must_be_at_least(1, l.recompute_num_layers);
     },
     .requirement = "With multi-token prediction, full recompute by the uniform method takes one "
                    "layer at a time.",
     .reason = "Its layers are checkpointed one by one (Megatron-LM multi_token_prediction.py: "
               "recompute_num_layers must be 1).",
     .remedy = "Set recompute_num_layers to 0 or 1, or recompute_method to block.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("recompute_num_layers is {} by the uniform method, mtp_num_layers {}",
                              in.layout.recompute_num_layers, in.model.mtp_num_layers);
         }},
    {.name = "offloaded_layers_within_stage",
     .part = RulePart::stage_switches,
     .check = [](const RuleInput& in) -> CheckResult {
       const Layout& l = in.layout;
       if (l.cpu_offloading_num_layers == 0) return std::nullopt;
       return must_be_at_least(layers_of_smallest_stage(in.model, l),
                               l.cpu_offloading_num_layers + 1);
     },
     .requirement = "cpu_offloading_num_layers must be smaller than the layers of the smallest "
                    "stage.",
     .reason = "The last layer's activations are needed at once, so moving them to the host gains "
               "nothing (Megatron-LM transformer_config.py).",
     .remedy = "Lower cpu_offloading_num_layers.",
     .sentence =
         [](const RuleInput& in, const Missed& m) {
           return fmt::format("cpu_offloading_num_layers is {}, the smallest stage has {} layers",
                              in.layout.cpu_offloading_num_layers, whole(m.available));
         }},
};

// The first row: the one rule that others ask for by name, Rule::memory_capacity.
inline constexpr RuleRow kMemoryRules[]{
    {.name = "memory_capacity",
     .part = RulePart::memory,
     .check = nullptr,
     .requirement = "The rank with the highest memory use must fit in the device's memory less the "
                    "headroom.",
     .reason = "A step that needs more ends in an out-of-memory error.",
     .remedy = "Use a larger tensor or pipeline size, more ZeRO sharding, sequence_parallel, "
               "recompute, or a smaller micro-batch.",
     .sentence =
         [](const RuleInput&, const Missed& m) {
           return fmt::format("the rank with the highest memory use needs {:.2f} GiB of {:.2f} GiB",
                              in_gibibytes(bytes(m.needed)), in_gibibytes(bytes(m.available)));
         }},
};

}  // namespace meshwright
