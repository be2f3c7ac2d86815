// SPDX-License-Identifier: Apache-2.0
// What the training software, the devices or their links cannot do. Which lacks what, and why, is
// said in its file (configs, "cannot").
#pragma once

#include "sim/layout/fields.h"
#include "sim/rules/rule_row.h"
#include "sim/schedule/traits.h"

namespace meshwright {

// Names the file that lists a feature as missing, and its reason: the first of software, devices
// and links.
inline std::string missing_text(Unsupported what, const Devices& devices) {
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
  const Cluster& cluster = *devices.cluster;
  if (cluster.limits.lacks(what)) return text("on", cluster.name, cluster.limits);
  return fmt::format(", which is unproven on {}: {}", cluster.name, cluster.unproven.reason(what));
}

// `uses` says whether a layout or job asks for it; `asked` says so in words.
template <Unsupported what, auto uses, auto asked>
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
    framework_row<Unsupported::tensor_parallel,
                  [](const RuleInput& in) { return is_split(in.layout.tensor_parallel_size); },
                  [](const RuleInput& in) {
                    return size_text("tensor_parallel_size", in.layout.tensor_parallel_size);
                  }>("framework_splits_tensors", RulePart::sizes,
                     "tensor_parallel_size above 1 needs a framework with tensor parallelism.",
                     "Set tensor_parallel_size to 1, or name another framework."),
    framework_row<Unsupported::pipeline_parallel,
                  [](const RuleInput& in) { return is_split(in.layout.pipeline_parallel_size); },
                  [](const RuleInput& in) {
                    return size_text("pipeline_parallel_size", in.layout.pipeline_parallel_size);
                  }>("framework_has_pipeline", RulePart::sizes,
                     "pipeline_parallel_size above 1 needs a framework with pipelines.",
                     "Set pipeline_parallel_size to 1, or name another framework."),
    framework_row<Unsupported::context_parallel,
                  [](const RuleInput& in) { return is_split(in.layout.context_parallel_size); },
                  [](const RuleInput& in) {
                    return size_text("context_parallel_size", in.layout.context_parallel_size);
                  }>("framework_splits_sequences", RulePart::sizes,
                     "context_parallel_size above 1 needs a framework with context parallelism.",
                     "Set context_parallel_size to 1, or name another framework."),
    framework_row<Unsupported::fp8, [](const RuleInput& in) { return is_narrow(in.job.precision); },
                  [](const RuleInput& in) {
                    return fmt::format("precision is {}", name_of(in.job.precision));
                  }>("framework_has_fp8", RulePart::sizes,
                     "precision fp8 or fp4 needs a framework with such linears.",
                     "Use bf16, or name another framework."),
    framework_row<Unsupported::interleaving,
                  [](const RuleInput& in) {
                    return traits(in.layout.schedule).any_number_of_chunks() &&
                           is_split(in.layout.virtual_pipeline_parallel_size);
                  },
                  [](const RuleInput& in) {
                    return fmt::format("schedule is {}", name_of(in.layout.schedule));
                  }>("framework_interleaves", RulePart::sizes,
                     "An interleaved schedule needs a framework that interleaves.",
                     "Set virtual_pipeline_parallel_size to 1, or name another framework."),
    framework_row<Unsupported::split_backward,
                  [](const RuleInput& in) { return traits(in.layout.schedule).splits_backward; },
                  [](const RuleInput& in) {
                    return fmt::format("schedule is {}", name_of(in.layout.schedule));
                  }>("framework_splits_backward", RulePart::sizes,
                     "A schedule that splits the backward pass needs a framework that has it.",
                     "Use schedule 1f1b, or name another framework."),
    framework_row<Unsupported::sequence_parallel,
                  [](const RuleInput& in) { return in.layout.sequence_parallel; },
                  [](const RuleInput&) { return std::string("sequence_parallel is on"); }>(
        "framework_has_sequence_parallel", RulePart::sizes,
        "sequence_parallel needs a framework that has it.",
        "Turn sequence_parallel off, or name another framework."),
    framework_row<Unsupported::tensor_without_sequence_parallel,
                  [](const RuleInput& in) {
                    return is_split(in.layout.tensor_parallel_size) && !in.layout.sequence_parallel;
                  },
                  [](const RuleInput& in) {
                    return fmt::format("sequence_parallel is off with tensor_parallel_size {}",
                                       in.layout.tensor_parallel_size);
                  }>("framework_splits_tensors_without_sequence", RulePart::sizes,
                     "Tensor parallelism without sequence_parallel needs a framework that has it.",
                     "Turn sequence_parallel on, or name another framework."),
    framework_row<Unsupported::overlap_p2p_comm,
                  [](const RuleInput& in) { return in.layout.overlap_p2p_comm; },
                  [](const RuleInput&) { return std::string("overlap_p2p_comm is on"); }>(
        "framework_overlaps_sends", RulePart::sizes,
        "overlap_p2p_comm needs a framework whose stages compute while they send.",
        "Turn overlap_p2p_comm off, or name another framework."),
    framework_row<Unsupported::distributed_optimizer,
                  [](const RuleInput& in) {
                    return shards_without_fsdp(in.layout) && in.layout.zero_stage == 1;
                  },
                  [](const RuleInput&) { return std::string("zero_stage is 1 without FSDP"); }>(
        "framework_shards_optimizer", RulePart::data_switches,
        "zero_stage 1 needs a framework with a sharded optimizer of its own.",
        "Set zero_stage to 0, shard with fsdp_unit, or name another framework."),
    framework_row<Unsupported::sharded_gradients,
                  [](const RuleInput& in) {
                    return shards_without_fsdp(in.layout) && in.layout.zero_stage >= 2;
                  },
                  [](const RuleInput& in) {
                    return fmt::format("zero_stage is {} without FSDP", in.layout.zero_stage);
                  }>("framework_shards_gradients", RulePart::data_switches,
                     "zero_stage 2 and 3 need a framework that shards gradients and weights.",
                     "Set zero_stage to 0 or 1, shard with fsdp_unit, or name another framework."),
    framework_row<Unsupported::fsdp, [](const RuleInput& in) { return uses_fsdp(in.layout); },
                  [](const RuleInput& in) {
                    return fmt::format("fsdp_unit is {}", name_of(in.layout.fsdp_unit));
                  }>("framework_has_fsdp", RulePart::data_switches,
                     "fsdp_unit needs a framework with PyTorch's FSDP.",
                     "Set fsdp_unit to none, or name another framework."),
    framework_row<Unsupported::fsdp_below_pipeline,
                  [](const RuleInput& in) { return fsdp_below_pipeline(in.layout); },
                  [](const RuleInput& in) {
                    return fmt::format("fsdp_unit is {} with pipeline_parallel_size {}",
                                       name_of(in.layout.fsdp_unit),
                                       in.layout.pipeline_parallel_size);
                  }>("framework_has_fsdp_below_pipeline", RulePart::data_switches,
                     "FSDP with pipeline_parallel_size above 1 needs a framework that joins them.",
                     "Set pipeline_parallel_size to 1 or fsdp_unit to none, or name another "
                     "framework."),
    framework_row<Unsupported::replicas_beside_other_axes,
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
    framework_row<Unsupported::overlap_grad_reduce,
                  [](const RuleInput& in) { return in.layout.overlap_grad_reduce; },
                  [](const RuleInput&) { return std::string("overlap_grad_reduce is on"); }>(
        "framework_overlaps_gradients", RulePart::data_switches,
        "overlap_grad_reduce needs a framework that reduces gradients beside the backward pass.",
        "Turn overlap_grad_reduce off, or name another framework."),
    framework_row<Unsupported::overlap_param_gather,
                  [](const RuleInput& in) { return in.layout.overlap_param_gather; },
                  [](const RuleInput&) { return std::string("overlap_param_gather is on"); }>(
        "framework_overlaps_weights", RulePart::data_switches,
        "overlap_param_gather needs a framework that gathers weights beside the forward pass.",
        "Turn overlap_param_gather off, or name another framework."),
    framework_row<Unsupported::tp_comm_overlap,
                  [](const RuleInput& in) { return in.layout.tp_comm_overlap; },
                  [](const RuleInput&) { return std::string("tp_comm_overlap is on"); }>(
        "framework_overlaps_tensor_parallel", RulePart::stage_switches,
        "tp_comm_overlap needs software and devices that overlap tensor-parallel transfers.",
        "Turn tp_comm_overlap off, or name another framework."),
};

}  // namespace meshwright
