// SPDX-License-Identifier: Apache-2.0
// Features that only a few frameworks, devices or links lack: a search looks at these rules
// together, where one of them is lacking.
#pragma once

#include "sim/rules/framework_rules.h"

namespace meshwright {

// Features that few frameworks do not support; a search skips them together.
inline constexpr RuleRow kFeatureRules[]{
    framework_row<Unsupported::experts,
                  [](const RuleInput& in) { return in.model.moe.has_value(); },
                  [](const RuleInput& in) {
                    return fmt::format("{} has experts",
                                       in.model.name.empty() ? "the model" : in.model.name);
                  }>("framework_has_experts", RulePart::sizes,
                     "A mixture-of-experts model needs a framework that has them.",
                     "Name another framework."),
    framework_row<Unsupported::expert_parallel,
                  [](const RuleInput& in) { return is_split(in.layout.expert_parallel_size); },
                  [](const RuleInput& in) {
                    return size_text("expert_parallel_size", in.layout.expert_parallel_size);
                  }>("framework_splits_experts", RulePart::sizes,
                     "expert_parallel_size above 1 needs a framework with expert parallelism.",
                     "Set expert_parallel_size to 1, or name another framework."),
    framework_row<Unsupported::expert_tensor_parallel,
                  [](const RuleInput& in) {
                    return in.model.moe &&
                           expert_tensor_size(in.layout) != in.layout.tensor_parallel_size;
                  },
                  [](const RuleInput& in) {
                    return size_text("expert_tensor_parallel_size", expert_tensor_size(in.layout));
                  }>("framework_folds_experts", RulePart::sizes,
                     "An expert_tensor_parallel_size of its own needs a framework that has it.",
                     "Set expert_tensor_parallel_size to 0, or name another framework."),
    framework_row<Unsupported::pipeline_layout,
                  [](const RuleInput& in) { return static_cast<bool>(in.layout.pipeline_layout); },
                  [](const RuleInput& in) {
                    return fmt::format("pipeline_layout is {}", in.layout.pipeline_layout.text());
                  }>("framework_has_pipeline_layouts", RulePart::sizes,
                     "pipeline_layout needs a framework that takes such lists.",
                     "Leave pipeline_layout out, or name another framework."),
    framework_row<
        Unsupported::uneven_stages,
        [](const RuleInput& in) {
          const Layout& l = in.layout;
          return (l.num_layers_in_first_pipeline_stage + l.num_layers_in_last_pipeline_stage > 0);
        },
        [](const RuleInput& in) {
          return fmt::format(
              "num_layers_in_first_pipeline_stage is {} and num_layers_in_last_pipeline_stage {}",
              in.layout.num_layers_in_first_pipeline_stage,
              in.layout.num_layers_in_last_pipeline_stage);
        }>("framework_has_uneven_stages", RulePart::sizes,
           "A number of layers for the first or last stage needs a framework that takes it.",
           "Use a pipeline_parallel_size that divides num_layers, or name another framework."),
    framework_row<Unsupported::embedding_in_pipeline_split,
                  [](const RuleInput& in) {
                    return in.layout.account_for_embedding_in_pipeline_split ||
                           in.layout.account_for_loss_in_pipeline_split;
                  },
                  [](const RuleInput&) {
                    return std::string("the embedding or the loss counts as a layer");
                  }>(
        "framework_counts_embedding", RulePart::sizes,
        "account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split need a "
        "framework that has them.",
        "Use a pipeline_parallel_size that divides num_layers, or name another framework."),
    framework_row<Unsupported::scatter_gather_p2p,
                  [](const RuleInput& in) { return in.layout.scatter_gather_p2p; },
                  [](const RuleInput&) { return std::string("scatter_gather_p2p is on"); }>(
        "framework_scatters_sends", RulePart::stage_switches,
        "scatter_gather_p2p needs a framework that has it.",
        "Turn scatter_gather_p2p off, or name another framework."),
    framework_row<Unsupported::ring_context_parallel,
                  [](const RuleInput& in) {
                    return runs_context(in.layout, ContextParallelAlgorithm::p2p);
                  },
                  [](const RuleInput&) { return std::string("cp_comm_type is p2p"); }>(
        "framework_has_ring_attention", RulePart::sizes,
        "cp_comm_type p2p needs a framework that has it.",
        "Use another cp_comm_type, or name another framework."),
    framework_row<Unsupported::all_gather_context_parallel,
                  [](const RuleInput& in) {
                    return runs_context(in.layout, ContextParallelAlgorithm::all_gather);
                  },
                  [](const RuleInput&) { return std::string("cp_comm_type is all_gather"); }>(
        "framework_gathers_keys", RulePart::sizes,
        "cp_comm_type all_gather needs a framework that has it.",
        "Use another cp_comm_type, or name another framework."),
    framework_row<Unsupported::a2a_context_parallel,
                  [](const RuleInput& in) {
                    return runs_context(in.layout, ContextParallelAlgorithm::a2a) ||
                           runs_context(in.layout, ContextParallelAlgorithm::a2a_p2p);
                  },
                  [](const RuleInput&) {
                    return std::string("cp_comm_type exchanges heads by all-to-all");
                  }>("framework_exchanges_heads", RulePart::sizes,
                     "cp_comm_type a2a and a2a+p2p need a framework that has them.",
                     "Use another cp_comm_type, or name another framework."),
    framework_row<Unsupported::fp8_tensorwise,
                  [](const RuleInput& in) { return fp8_by(in.job, Fp8Recipe::tensorwise); },
                  [](const RuleInput&) { return std::string("fp8_recipe is tensorwise"); }>(
        "framework_has_tensorwise", RulePart::sizes,
        "fp8_recipe tensorwise needs a framework that has it.",
        "Use another fp8_recipe, or name another framework."),
    framework_row<Unsupported::fp8_blockwise,
                  [](const RuleInput& in) { return fp8_by(in.job, Fp8Recipe::blockwise); },
                  [](const RuleInput&) { return std::string("fp8_recipe is blockwise"); }>(
        "framework_has_blockwise", RulePart::sizes,
        "fp8_recipe blockwise needs a framework that has it.",
        "Use another fp8_recipe, or name another framework."),
    framework_row<Unsupported::mxfp8,
                  [](const RuleInput& in) { return fp8_by(in.job, Fp8Recipe::mxfp8); },
                  [](const RuleInput&) { return std::string("fp8_recipe is mxfp8"); }>(
        "framework_has_mxfp8", RulePart::sizes, "fp8_recipe mxfp8 needs a framework that has it.",
        "Use another fp8_recipe, or name another framework."),
    framework_row<Unsupported::fp4,
                  [](const RuleInput& in) { return in.job.precision == Precision::fp4; },
                  [](const RuleInput&) { return std::string("precision is fp4"); }>(
        "framework_has_fp4", RulePart::sizes, "precision fp4 needs a framework that has it.",
        "Use fp8 or bf16, or name another framework."),
    framework_row<Unsupported::selective_recompute,
                  [](const RuleInput& in) {
                    return in.layout.recompute_granularity == RecomputeGranularity::selective;
                  },
                  [](const RuleInput&) {
                    return std::string("recompute_granularity is selective");
                  }>("framework_recomputes_modules", RulePart::stage_switches,
                     "recompute_granularity selective needs a framework that has it.",
                     "Use full recompute or none, or name another framework."),
    framework_row<Unsupported::recompute_modules,
                  [](const RuleInput& in) {
                    return recomputes_module(in.layout, ~unsigned{kRecomputeCoreAttention});
                  },
                  [](const RuleInput& in) {
                    return fmt::format(
                        "recompute_modules is {}",
                        value_text(
                            field(&Layout::recompute_modules, "").among({kRecomputeModuleNames}),
                            in.layout.recompute_modules));
                  }>("framework_recomputes_named_modules", RulePart::stage_switches,
                     "recompute_modules other than core_attn need a framework that has them.",
                     "Use core_attn, or name another framework."),
    framework_row<Unsupported::partial_recompute,
                  [](const RuleInput& in) {
                    return (in.layout.recompute_granularity == RecomputeGranularity::full &&
                            in.layout.recompute_num_layers > 0 &&
                            in.layout.recompute_method == RecomputeMethod::block);
                  },
                  [](const RuleInput& in) {
                    return size_text("recompute_num_layers", in.layout.recompute_num_layers);
                  }>("framework_recomputes_some_layers", RulePart::stage_switches,
                     "Full recompute of some layers of a stage needs a framework that has it.",
                     "Set recompute_num_layers to 0, or name another framework."),
    framework_row<
        Unsupported::allgather_dispatcher,
        [](const RuleInput& in) { return sends_by(in, MoeTokenDispatcherType::allgather); },
        [](const RuleInput&) { return std::string("moe_token_dispatcher_type is allgather"); }>(
        "framework_gathers_tokens", RulePart::stage_switches,
        "The allgather dispatcher needs a framework that has it.",
        "Use the alltoall dispatcher, or name another framework."),
    framework_row<Unsupported::flex_dispatcher,
                  [](const RuleInput& in) { return sends_by(in, MoeTokenDispatcherType::flex); },
                  [](const RuleInput&) {
                    return std::string("moe_token_dispatcher_type is flex");
                  }>("flex_dispatcher_runs", RulePart::stage_switches,
                     "The flex dispatcher needs software, devices and links that run its library.",
                     "Use the alltoall dispatcher."),
    framework_row<Unsupported::deepep,
                  [](const RuleInput& in) {
                    return sends_by(in, MoeTokenDispatcherType::flex) &&
                           in.layout.moe_flex_dispatcher_backend ==
                               MoeFlexDispatcherBackend::deepep;
                  },
                  [](const RuleInput&) {
                    return std::string("moe_flex_dispatcher_backend is deepep");
                  }>("deepep_runs", RulePart::stage_switches,
                     "moe_flex_dispatcher_backend deepep needs software and devices that run it.",
                     "Use another library, or the alltoall dispatcher."),
    framework_row<Unsupported::hybridep,
                  [](const RuleInput& in) {
                    return sends_by(in, MoeTokenDispatcherType::flex) &&
                           in.layout.moe_flex_dispatcher_backend ==
                               MoeFlexDispatcherBackend::hybridep;
                  },
                  [](const RuleInput&) {
                    return std::string("moe_flex_dispatcher_backend is hybridep");
                  }>("hybridep_runs", RulePart::stage_switches,
                     "moe_flex_dispatcher_backend hybridep needs software and devices that run it.",
                     "Use another library, or the alltoall dispatcher."),
    framework_row<Unsupported::ncclep,
                  [](const RuleInput& in) {
                    return sends_by(in, MoeTokenDispatcherType::flex) &&
                           in.layout.moe_flex_dispatcher_backend ==
                               MoeFlexDispatcherBackend::ncclep;
                  },
                  [](const RuleInput&) {
                    return std::string("moe_flex_dispatcher_backend is ncclep");
                  }>("ncclep_runs", RulePart::stage_switches,
                     "moe_flex_dispatcher_backend ncclep needs software and devices that run it.",
                     "Use another library, or the alltoall dispatcher."),
    framework_row<Unsupported::flex_dispatcher_across_nodes,
                  [](const RuleInput& in) {
                    const Layout& l = in.layout;
                    return (
                        sends_by(in, MoeTokenDispatcherType::flex) && in.devices.fast_domain > 0 &&
                        expert_tensor_size(l) * l.expert_parallel_size > in.devices.fast_domain);
                  },
                  [](const RuleInput& in) {
                    return fmt::format(
                        "moe_token_dispatcher_type is flex with {} expert ranks, {} of which share "
                        "fast links",
                        expert_tensor_size(in.layout) * in.layout.expert_parallel_size,
                        in.devices.fast_domain);
                  }>("flex_dispatcher_crosses_nodes", RulePart::stage_switches,
                     "A flex dispatcher whose ranks lie in several NVLink domains needs NICs that "
                     "its library drives.",
                     "Keep the expert ranks inside a domain, or use the alltoall dispatcher."),
    framework_row<Unsupported::token_overlap,
                  [](const RuleInput& in) { return in.layout.overlap_moe_expert_parallel_comm; },
                  [](const RuleInput&) {
                    return std::string("overlap_moe_expert_parallel_comm is on");
                  }>("framework_overlaps_tokens", RulePart::stage_switches,
                     "overlap_moe_expert_parallel_comm needs a framework that has it.",
                     "Turn overlap_moe_expert_parallel_comm off, or name another framework."),
    framework_row<Unsupported::shared_expert_overlap,
                  [](const RuleInput& in) { return in.layout.moe_shared_expert_overlap; },
                  [](const RuleInput&) { return std::string("moe_shared_expert_overlap is on"); }>(
        "framework_overlaps_shared_experts", RulePart::stage_switches,
        "moe_shared_expert_overlap needs a framework that has it.",
        "Turn moe_shared_expert_overlap off, or name another framework."),
    framework_row<Unsupported::hybrid_sharding,
                  [](const RuleInput& in) {
                    const int shard = in.layout.zero_shard_size;
                    return (shard > 0 && shard < gradient_group_size(in.layout));
                  },
                  [](const RuleInput& in) {
                    return size_text("zero_shard_size", in.layout.zero_shard_size);
                  }>("framework_shards_in_groups", RulePart::data_switches,
                     "zero_shard_size needs a framework that shards inside groups of data ranks.",
                     "Set zero_shard_size to 0, or name another framework."),
    framework_row<Unsupported::optimizer_offload,
                  [](const RuleInput& in) { return in.layout.optimizer_offload; },
                  [](const RuleInput&) { return std::string("optimizer_offload is on"); }>(
        "framework_offloads_optimizer", RulePart::data_switches,
        "optimizer_offload needs a framework that has it.",
        "Turn optimizer_offload off, or name another framework."),
    framework_row<Unsupported::replicated_optimizer_offload,
                  [](const RuleInput& in) {
                    const Layout& l = in.layout;
                    return (l.optimizer_offload && l.zero_stage == 0 && gradient_group_size(l) > 1);
                  },
                  [](const RuleInput&) {
                    return std::string("optimizer_offload is on with zero_stage 0");
                  }>(
        "framework_offloads_whole_optimizers", RulePart::data_switches,
        "optimizer_offload with zero_stage 0 needs a framework that offloads whole optimizers.",
        "Set zero_stage to 1, or turn optimizer_offload off."),
    framework_row<Unsupported::layer_offload,
                  [](const RuleInput& in) { return (in.layout.cpu_offloading_num_layers > 0); },
                  [](const RuleInput& in) {
                    return size_text("cpu_offloading_num_layers",
                                     in.layout.cpu_offloading_num_layers);
                  }>("framework_offloads_layers", RulePart::stage_switches,
                     "cpu_offloading_num_layers needs a framework that has it.",
                     "Set cpu_offloading_num_layers to 0, or name another framework."),
    framework_row<Unsupported::offload_modules,
                  [](const RuleInput& in) { return in.layout.offload_modules.bits != 0; },
                  [](const RuleInput&) { return std::string("offload_modules names modules"); }>(
        "framework_offloads_modules", RulePart::stage_switches,
        "offload_modules needs a framework that has it.",
        "Leave offload_modules out, or name another framework."),
    framework_row<Unsupported::cuda_graphs,
                  [](const RuleInput& in) {
                    return in.layout.cuda_graph_impl != CudaGraphImpl::none;
                  },
                  [](const RuleInput& in) {
                    return fmt::format("cuda_graph_impl is {}", name_of(in.layout.cuda_graph_impl));
                  }>("framework_has_cuda_graphs", RulePart::stage_switches,
                     "cuda_graph_impl needs a framework that has it.",
                     "Set cuda_graph_impl to none, or name another framework."),
};

}  // namespace meshwright
