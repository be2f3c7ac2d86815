// SPDX-License-Identifier: Apache-2.0
// What the training software, the devices or their links cannot do. Which lacks what, and why, is
// said in its file (configs, "cannot").
#pragma once

#include "sim/layout/fields.h"
#include "sim/rules/rule_row.h"
#include "sim/schedule/traits.h"

namespace meshwright {

// Whose file says that it is missing, and why: the first of software, devices and links.
inline std::string missing_text(Lack what, const Devices& devices) {
  const auto text = [&](std::string_view where, const std::string& name,
                        const FeatureLimits& limits) {
    return fmt::format(", but {} {} there is none: {}", where, name, limits.reason(what));
  };
  const Framework* framework = devices.framework;
  if (framework != nullptr && framework->limits.lacks(what)) {
    return text("under", framework->name, framework->limits);
  }
  if (devices.cluster == nullptr) return "";
  const Device& device = only_device(*devices.cluster);
  if (device.limits.lacks(what)) return text("on", device.name, device.limits);
  return text("on", devices.cluster->name, devices.cluster->limits);
}

// `uses` says whether a layout or job asks for it; `asked` says so in words.
template <Lack what, auto uses, auto asked>
constexpr RuleRow framework_row(std::string_view name, RulePart part, std::string_view requirement,
                                std::string_view remedy) {
  return {.name = name,
          .part = part,
          .check = [](const RuleInput& in) -> CheckResult {
            if (!in.devices.lack(what) || !uses(in)) return std::nullopt;
            return missed(0, 1);
          },
          .requirement = requirement,
          .reason =
              "The file of the framework, the device or the cluster says so, with its source; "
              "another one may do it.",
          .remedy = remedy,
          .sentence = [](const RuleInput& in,
                         const Missed&) { return asked(in) + missing_text(what, in.devices); },
          .lack = lack_bit(what)};
}

inline std::string size_text(std::string_view field, int size) {
  return fmt::format("{} is {}", field, size);
}
inline bool is_split(int size) { return size > 1; }
inline bool shards_without_fsdp(const Layout& l) { return l.zero_stage > 0 && !uses_fsdp(l); }

inline bool runs_context(const Layout& l, ContextParallelAlgorithm kind) {
  return is_split(l.context_parallel_size) && l.cp_comm_type == kind;
}
inline bool fp8_by(const Job& job, Fp8Recipe recipe) {
  return job.precision == Precision::fp8 && job.fp8_recipe == recipe;
}
inline bool sends_by(const RuleInput& in, MoeTokenDispatcherType type) {
  return in.model.moe && is_split(in.layout.expert_parallel_size) &&
         in.layout.moe_token_dispatcher_type == type;
}

inline constexpr RuleRow kFrameworkRules[]{
    framework_row<Lack::tensor_parallel,
                  [](const RuleInput& in) { return is_split(in.layout.tensor_parallel_size); },
                  [](const RuleInput& in) {
                    return size_text("tensor_parallel_size", in.layout.tensor_parallel_size);
                  }>("framework_splits_tensors", RulePart::sizes,
                     "tensor_parallel_size above 1 needs a framework with tensor parallelism.",
                     "Set tensor_parallel_size to 1, or name another framework."),
    framework_row<Lack::pipeline_parallel,
                  [](const RuleInput& in) { return is_split(in.layout.pipeline_parallel_size); },
                  [](const RuleInput& in) {
                    return size_text("pipeline_parallel_size", in.layout.pipeline_parallel_size);
                  }>("framework_has_pipeline", RulePart::sizes,
                     "pipeline_parallel_size above 1 needs a framework with pipelines.",
                     "Set pipeline_parallel_size to 1, or name another framework."),
    framework_row<Lack::context_parallel,
                  [](const RuleInput& in) { return is_split(in.layout.context_parallel_size); },
                  [](const RuleInput& in) {
                    return size_text("context_parallel_size", in.layout.context_parallel_size);
                  }>("framework_splits_sequences", RulePart::sizes,
                     "context_parallel_size above 1 needs a framework with context parallelism.",
                     "Set context_parallel_size to 1, or name another framework."),
    framework_row<Lack::fp8, [](const RuleInput& in) { return is_narrow(in.job.precision); },
                  [](const RuleInput& in) {
                    return fmt::format("precision is {}", name_of(in.job.precision));
                  }>("framework_has_fp8", RulePart::sizes,
                     "precision fp8 or fp4 needs a framework with such linears.",
                     "Use bf16, or name another framework."),
    framework_row<Lack::interleaving,
                  [](const RuleInput& in) {
                    return traits(in.layout.schedule).any_number_of_chunks() &&
                           is_split(in.layout.virtual_pipeline_parallel_size);
                  },
                  [](const RuleInput& in) {
                    return fmt::format("schedule is {}", name_of(in.layout.schedule));
                  }>("framework_interleaves", RulePart::sizes,
                     "An interleaved schedule needs a framework that interleaves.",
                     "Set virtual_pipeline_parallel_size to 1, or name another framework."),
    framework_row<Lack::split_backward,
                  [](const RuleInput& in) { return traits(in.layout.schedule).splits_backward; },
                  [](const RuleInput& in) {
                    return fmt::format("schedule is {}", name_of(in.layout.schedule));
                  }>("framework_splits_backward", RulePart::sizes,
                     "A schedule that splits the backward pass needs a framework that has it.",
                     "Use schedule 1f1b, or name another framework."),
    framework_row<Lack::sequence_parallel,
                  [](const RuleInput& in) { return in.layout.sequence_parallel; },
                  [](const RuleInput&) { return std::string("sequence_parallel is on"); }>(
        "framework_has_sequence_parallel", RulePart::sizes,
        "sequence_parallel needs a framework that has it.",
        "Turn sequence_parallel off, or name another framework."),
    framework_row<Lack::tensor_without_sequence_parallel,
                  [](const RuleInput& in) {
                    return is_split(in.layout.tensor_parallel_size) && !in.layout.sequence_parallel;
                  },
                  [](const RuleInput& in) {
                    return fmt::format("sequence_parallel is off with tensor_parallel_size {}",
                                       in.layout.tensor_parallel_size);
                  }>("framework_splits_tensors_without_sequence", RulePart::sizes,
                     "Tensor parallelism without sequence_parallel needs a framework that has it.",
                     "Turn sequence_parallel on, or name another framework."),
    framework_row<Lack::overlap_p2p_comm,
                  [](const RuleInput& in) { return in.layout.overlap_p2p_comm; },
                  [](const RuleInput&) { return std::string("overlap_p2p_comm is on"); }>(
        "framework_overlaps_sends", RulePart::sizes,
        "overlap_p2p_comm needs a framework whose stages compute while they send.",
        "Turn overlap_p2p_comm off, or name another framework."),
    framework_row<Lack::distributed_optimizer,
                  [](const RuleInput& in) {
                    return shards_without_fsdp(in.layout) && in.layout.zero_stage == 1;
                  },
                  [](const RuleInput&) { return std::string("zero_stage is 1 without FSDP"); }>(
        "framework_shards_optimizer", RulePart::data_switches,
        "zero_stage 1 needs a framework with a sharded optimizer of its own.",
        "Set zero_stage to 0, shard with fsdp_unit, or name another framework."),
    framework_row<Lack::sharded_gradients,
                  [](const RuleInput& in) {
                    return shards_without_fsdp(in.layout) && in.layout.zero_stage >= 2;
                  },
                  [](const RuleInput& in) {
                    return fmt::format("zero_stage is {} without FSDP", in.layout.zero_stage);
                  }>("framework_shards_gradients", RulePart::data_switches,
                     "zero_stage 2 and 3 need a framework that shards gradients and weights.",
                     "Set zero_stage to 0 or 1, shard with fsdp_unit, or name another framework."),
    framework_row<Lack::fsdp, [](const RuleInput& in) { return uses_fsdp(in.layout); },
                  [](const RuleInput& in) {
                    return fmt::format("fsdp_unit is {}", name_of(in.layout.fsdp_unit));
                  }>("framework_has_fsdp", RulePart::data_switches,
                     "fsdp_unit needs a framework with PyTorch's FSDP.",
                     "Set fsdp_unit to none, or name another framework."),
    framework_row<Lack::fsdp_below_pipeline,
                  [](const RuleInput& in) { return fsdp_below_pipeline(in.layout); },
                  [](const RuleInput& in) {
                    return fmt::format("fsdp_unit is {} with pipeline_parallel_size {}",
                                       name_of(in.layout.fsdp_unit),
                                       in.layout.pipeline_parallel_size);
                  }>("framework_has_fsdp_below_pipeline", RulePart::data_switches,
                     "FSDP with pipeline_parallel_size above 1 needs a framework that joins them.",
                     "Set pipeline_parallel_size to 1 or fsdp_unit to none, or name another "
                     "framework."),
    framework_row<Lack::replicas_beside_other_axes,
                  [](const RuleInput& in) {
                    const Layout& l = in.layout;
                    return l.zero_stage == 0 && is_split(l.data_parallel_size) &&
                           is_split(world_size(l) / l.data_parallel_size);
                  },
                  [](const RuleInput& in) {
                    return fmt::format("zero_stage is 0 with {} data ranks of {}",
                                       in.layout.data_parallel_size, world_size(in.layout));
                  }>("framework_replicates_beside_other_axes", RulePart::data_switches,
                     "zero_stage 0 with tensor, pipeline or context ranks needs a framework that "
                     "has it.",
                     "Set zero_stage to 2 or 3, or name another framework."),
    framework_row<Lack::overlap_grad_reduce,
                  [](const RuleInput& in) { return in.layout.overlap_grad_reduce; },
                  [](const RuleInput&) { return std::string("overlap_grad_reduce is on"); }>(
        "framework_overlaps_gradients", RulePart::data_switches,
        "overlap_grad_reduce needs a framework that reduces gradients beside the backward pass.",
        "Turn overlap_grad_reduce off, or name another framework."),
    framework_row<Lack::overlap_param_gather,
                  [](const RuleInput& in) { return in.layout.overlap_param_gather; },
                  [](const RuleInput&) { return std::string("overlap_param_gather is on"); }>(
        "framework_overlaps_weights", RulePart::data_switches,
        "overlap_param_gather needs a framework that gathers weights beside the forward pass.",
        "Turn overlap_param_gather off, or name another framework."),
    framework_row<Lack::tp_comm_overlap,
                  [](const RuleInput& in) { return in.layout.tp_comm_overlap; },
                  [](const RuleInput&) { return std::string("tp_comm_overlap is on"); }>(
        "framework_overlaps_tensor_parallel", RulePart::stage_switches,
        "tp_comm_overlap needs software and devices that overlap tensor-parallel transfers.",
        "Turn tp_comm_overlap off, or name another framework."),
};

// What fewer lack, and a search skips together.
inline constexpr RuleRow kFeatureRules[]{
    framework_row<Lack::experts, [](const RuleInput& in) { return in.model.moe.has_value(); },
                  [](const RuleInput& in) {
                    return fmt::format("{} has experts",
                                       in.model.name.empty() ? "the model" : in.model.name);
                  }>("framework_has_experts", RulePart::sizes,
                     "A mixture-of-experts model needs a framework that has them.",
                     "Name another framework."),
    framework_row<Lack::expert_parallel,
                  [](const RuleInput& in) { return is_split(in.layout.expert_parallel_size); },
                  [](const RuleInput& in) {
                    return size_text("expert_parallel_size", in.layout.expert_parallel_size);
                  }>("framework_splits_experts", RulePart::sizes,
                     "expert_parallel_size above 1 needs a framework with expert parallelism.",
                     "Set expert_parallel_size to 1, or name another framework."),
    framework_row<Lack::expert_tensor_parallel,
                  [](const RuleInput& in) {
                    return in.model.moe &&
                           expert_tensor_size(in.layout) != in.layout.tensor_parallel_size;
                  },
                  [](const RuleInput& in) {
                    return size_text("expert_tensor_parallel_size", expert_tensor_size(in.layout));
                  }>("framework_folds_experts", RulePart::sizes,
                     "An expert_tensor_parallel_size of its own needs a framework that has it.",
                     "Set expert_tensor_parallel_size to 0, or name another framework."),
    framework_row<Lack::pipeline_layout,
                  [](const RuleInput& in) { return static_cast<bool>(in.layout.pipeline_layout); },
                  [](const RuleInput& in) {
                    return fmt::format("pipeline_layout is {}", in.layout.pipeline_layout.text());
                  }>("framework_has_pipeline_layouts", RulePart::sizes,
                     "pipeline_layout needs a framework that takes such lists.",
                     "Leave pipeline_layout out, or name another framework."),
    framework_row<
        Lack::uneven_stages,
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
    framework_row<Lack::embedding_in_pipeline_split,
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
    framework_row<Lack::scatter_gather_p2p,
                  [](const RuleInput& in) { return in.layout.scatter_gather_p2p; },
                  [](const RuleInput&) { return std::string("scatter_gather_p2p is on"); }>(
        "framework_scatters_sends", RulePart::stage_switches,
        "scatter_gather_p2p needs a framework that has it.",
        "Turn scatter_gather_p2p off, or name another framework."),
    framework_row<Lack::ring_context_parallel,
                  [](const RuleInput& in) {
                    return runs_context(in.layout, ContextParallelAlgorithm::p2p);
                  },
                  [](const RuleInput&) { return std::string("cp_comm_type is p2p"); }>(
        "framework_has_ring_attention", RulePart::sizes,
        "cp_comm_type p2p needs a framework that has it.",
        "Use another cp_comm_type, or name another framework."),
    framework_row<Lack::all_gather_context_parallel,
                  [](const RuleInput& in) {
                    return runs_context(in.layout, ContextParallelAlgorithm::all_gather);
                  },
                  [](const RuleInput&) { return std::string("cp_comm_type is all_gather"); }>(
        "framework_gathers_keys", RulePart::sizes,
        "cp_comm_type all_gather needs a framework that has it.",
        "Use another cp_comm_type, or name another framework."),
    framework_row<Lack::a2a_context_parallel,
                  [](const RuleInput& in) {
                    return runs_context(in.layout, ContextParallelAlgorithm::a2a) ||
                           runs_context(in.layout, ContextParallelAlgorithm::a2a_p2p);
                  },
                  [](const RuleInput&) {
                    return std::string("cp_comm_type exchanges heads by all-to-all");
                  }>("framework_exchanges_heads", RulePart::sizes,
                     "cp_comm_type a2a and a2a+p2p need a framework that has them.",
                     "Use another cp_comm_type, or name another framework."),
    framework_row<Lack::fp8_tensorwise,
                  [](const RuleInput& in) { return fp8_by(in.job, Fp8Recipe::tensorwise); },
                  [](const RuleInput&) { return std::string("fp8_recipe is tensorwise"); }>(
        "framework_has_tensorwise", RulePart::sizes,
        "fp8_recipe tensorwise needs a framework that has it.",
        "Use another fp8_recipe, or name another framework."),
    framework_row<Lack::fp8_blockwise,
                  [](const RuleInput& in) { return fp8_by(in.job, Fp8Recipe::blockwise); },
                  [](const RuleInput&) { return std::string("fp8_recipe is blockwise"); }>(
        "framework_has_blockwise", RulePart::sizes,
        "fp8_recipe blockwise needs a framework that has it.",
        "Use another fp8_recipe, or name another framework."),
    framework_row<Lack::mxfp8, [](const RuleInput& in) { return fp8_by(in.job, Fp8Recipe::mxfp8); },
                  [](const RuleInput&) { return std::string("fp8_recipe is mxfp8"); }>(
        "framework_has_mxfp8", RulePart::sizes, "fp8_recipe mxfp8 needs a framework that has it.",
        "Use another fp8_recipe, or name another framework."),
    framework_row<Lack::fp4, [](const RuleInput& in) { return in.job.precision == Precision::fp4; },
                  [](const RuleInput&) { return std::string("precision is fp4"); }>(
        "framework_has_fp4", RulePart::sizes, "precision fp4 needs a framework that has it.",
        "Use fp8 or bf16, or name another framework."),
    framework_row<Lack::selective_recompute,
                  [](const RuleInput& in) {
                    return in.layout.recompute_granularity == RecomputeGranularity::selective;
                  },
                  [](const RuleInput&) {
                    return std::string("recompute_granularity is selective");
                  }>("framework_recomputes_modules", RulePart::stage_switches,
                     "recompute_granularity selective needs a framework that has it.",
                     "Use full recompute or none, or name another framework."),
    framework_row<Lack::recompute_modules,
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
    framework_row<Lack::partial_recompute,
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
        Lack::allgather_dispatcher,
        [](const RuleInput& in) { return sends_by(in, MoeTokenDispatcherType::allgather); },
        [](const RuleInput&) { return std::string("moe_token_dispatcher_type is allgather"); }>(
        "framework_gathers_tokens", RulePart::stage_switches,
        "The allgather dispatcher needs a framework that has it.",
        "Use the alltoall dispatcher, or name another framework."),
    framework_row<Lack::flex_dispatcher,
                  [](const RuleInput& in) { return sends_by(in, MoeTokenDispatcherType::flex); },
                  [](const RuleInput&) {
                    return std::string("moe_token_dispatcher_type is flex");
                  }>("flex_dispatcher_runs", RulePart::stage_switches,
                     "The flex dispatcher needs software, devices and links that run its library.",
                     "Use the alltoall dispatcher."),
    framework_row<Lack::deepep,
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
    framework_row<Lack::hybridep,
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
    framework_row<Lack::ncclep,
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
    framework_row<Lack::flex_dispatcher_across_nodes,
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
    framework_row<Lack::token_overlap,
                  [](const RuleInput& in) { return in.layout.overlap_moe_expert_parallel_comm; },
                  [](const RuleInput&) {
                    return std::string("overlap_moe_expert_parallel_comm is on");
                  }>("framework_overlaps_tokens", RulePart::stage_switches,
                     "overlap_moe_expert_parallel_comm needs a framework that has it.",
                     "Turn overlap_moe_expert_parallel_comm off, or name another framework."),
    framework_row<Lack::shared_expert_overlap,
                  [](const RuleInput& in) { return in.layout.moe_shared_expert_overlap; },
                  [](const RuleInput&) { return std::string("moe_shared_expert_overlap is on"); }>(
        "framework_overlaps_shared_experts", RulePart::stage_switches,
        "moe_shared_expert_overlap needs a framework that has it.",
        "Turn moe_shared_expert_overlap off, or name another framework."),
    framework_row<Lack::hybrid_sharding,
                  [](const RuleInput& in) {
                    const int shard = in.layout.zero_shard_size;
                    return (shard > 0 && shard < gradient_group_size(in.layout));
                  },
                  [](const RuleInput& in) {
                    return size_text("zero_shard_size", in.layout.zero_shard_size);
                  }>("framework_shards_in_groups", RulePart::data_switches,
                     "zero_shard_size needs a framework that shards inside groups of data ranks.",
                     "Set zero_shard_size to 0, or name another framework."),
    framework_row<Lack::optimizer_offload,
                  [](const RuleInput& in) { return in.layout.optimizer_offload; },
                  [](const RuleInput&) { return std::string("optimizer_offload is on"); }>(
        "framework_offloads_optimizer", RulePart::data_switches,
        "optimizer_offload needs a framework that has it.",
        "Turn optimizer_offload off, or name another framework."),
    framework_row<Lack::layer_offload,
                  [](const RuleInput& in) { return (in.layout.cpu_offloading_num_layers > 0); },
                  [](const RuleInput& in) {
                    return size_text("cpu_offloading_num_layers",
                                     in.layout.cpu_offloading_num_layers);
                  }>("framework_offloads_layers", RulePart::stage_switches,
                     "cpu_offloading_num_layers needs a framework that has it.",
                     "Set cpu_offloading_num_layers to 0, or name another framework."),
    framework_row<Lack::offload_modules,
                  [](const RuleInput& in) { return in.layout.offload_modules.bits != 0; },
                  [](const RuleInput&) { return std::string("offload_modules names modules"); }>(
        "framework_offloads_modules", RulePart::stage_switches,
        "offload_modules needs a framework that has it.",
        "Leave offload_modules out, or name another framework."),
    framework_row<Lack::cuda_graphs,
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
