// SPDX-License-Identifier: Apache-2.0
// What training software, a device or a cluster's fabric cannot do, by name, and why. Files of
// configs say so under "cannot". Each name is a rule of sim/rules/framework_rules.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/enum_names.h"

namespace meshwright {

enum class Unsupported : std::uint8_t {
  tensor_parallel,
  pipeline_parallel,
  context_parallel,
  fp8,
  interleaving,
  split_backward,  // schedules that part input and weight gradients
  sequence_parallel,
  tensor_without_sequence_parallel,
  overlap_p2p_comm,
  distributed_optimizer,  // zero_stage 1, but FSDP's
  sharded_gradients,      // zero_stage 2 and 3, but FSDP's
  fsdp,
  fsdp_below_pipeline,
  replicas_beside_other_axes,  // zero_stage 0 with tensor, pipeline or context ranks
  overlap_grad_reduce,
  overlap_param_gather,
  tp_comm_overlap,
  experts,  // models with experts
  expert_parallel,
  expert_tensor_parallel,  // experts split over another number of ranks than dense layers
  allgather_dispatcher,
  flex_dispatcher,               // any library of it
  flex_dispatcher_across_nodes,  // an expert group that leaves an NVLink domain
  deepep,
  hybridep,
  ncclep,
  token_overlap,  // overlap_moe_expert_parallel_comm
  shared_expert_overlap,
  pipeline_layout,              // a list of layers for each chunk
  uneven_stages,                // a number of layers for the first or last stage
  embedding_in_pipeline_split,  // embedding or loss counted as a layer
  scatter_gather_p2p,
  ring_context_parallel,  // cp_comm_type p2p
  all_gather_context_parallel,
  a2a_context_parallel,  // cp_comm_type a2a and a2a+p2p
  selective_recompute,
  recompute_modules,  // selective recompute of other modules than core_attn
  partial_recompute,  // full recompute of some layers of a stage
  fp8_tensorwise,
  fp8_blockwise,
  mxfp8,
  fp4,
  hybrid_sharding,  // zero_shard_size
  optimizer_offload,
  replicated_optimizer_offload,  // optimizer_offload with zero_stage 0 on several data ranks
  layer_offload,                 // cpu_offloading_num_layers
  offload_modules,
  cuda_graphs,
};
inline constexpr std::array kUnsupportedNames{
    EnumName{Unsupported::tensor_parallel, "tensor_parallel"},
    EnumName{Unsupported::pipeline_parallel, "pipeline_parallel"},
    EnumName{Unsupported::context_parallel, "context_parallel"},
    EnumName{Unsupported::fp8, "fp8"},
    EnumName{Unsupported::interleaving, "interleaving"},
    EnumName{Unsupported::split_backward, "split_backward"},
    EnumName{Unsupported::sequence_parallel, "sequence_parallel"},
    EnumName{Unsupported::tensor_without_sequence_parallel, "tensor_without_sequence_parallel"},
    EnumName{Unsupported::overlap_p2p_comm, "overlap_p2p_comm"},
    EnumName{Unsupported::distributed_optimizer, "distributed_optimizer"},
    EnumName{Unsupported::sharded_gradients, "sharded_gradients"},
    EnumName{Unsupported::fsdp, "fsdp"},
    EnumName{Unsupported::fsdp_below_pipeline, "fsdp_below_pipeline"},
    EnumName{Unsupported::replicas_beside_other_axes, "replicas_beside_other_axes"},
    EnumName{Unsupported::overlap_grad_reduce, "overlap_grad_reduce"},
    EnumName{Unsupported::overlap_param_gather, "overlap_param_gather"},
    EnumName{Unsupported::tp_comm_overlap, "tp_comm_overlap"},
    EnumName{Unsupported::experts, "experts"},
    EnumName{Unsupported::expert_parallel, "expert_parallel"},
    EnumName{Unsupported::expert_tensor_parallel, "expert_tensor_parallel"},
    EnumName{Unsupported::allgather_dispatcher, "allgather_dispatcher"},
    EnumName{Unsupported::flex_dispatcher, "flex_dispatcher"},
    EnumName{Unsupported::flex_dispatcher_across_nodes, "flex_dispatcher_across_nodes"},
    EnumName{Unsupported::deepep, "deepep"},
    EnumName{Unsupported::hybridep, "hybridep"},
    EnumName{Unsupported::ncclep, "ncclep"},
    EnumName{Unsupported::token_overlap, "token_overlap"},
    EnumName{Unsupported::shared_expert_overlap, "shared_expert_overlap"},
    EnumName{Unsupported::pipeline_layout, "pipeline_layout"},
    EnumName{Unsupported::uneven_stages, "uneven_stages"},
    EnumName{Unsupported::embedding_in_pipeline_split, "embedding_in_pipeline_split"},
    EnumName{Unsupported::scatter_gather_p2p, "scatter_gather_p2p"},
    EnumName{Unsupported::ring_context_parallel, "ring_context_parallel"},
    EnumName{Unsupported::all_gather_context_parallel, "all_gather_context_parallel"},
    EnumName{Unsupported::a2a_context_parallel, "a2a_context_parallel"},
    EnumName{Unsupported::selective_recompute, "selective_recompute"},
    EnumName{Unsupported::recompute_modules, "recompute_modules"},
    EnumName{Unsupported::partial_recompute, "partial_recompute"},
    EnumName{Unsupported::fp8_tensorwise, "fp8_tensorwise"},
    EnumName{Unsupported::fp8_blockwise, "fp8_blockwise"},
    EnumName{Unsupported::mxfp8, "mxfp8"},
    EnumName{Unsupported::fp4, "fp4"},
    EnumName{Unsupported::hybrid_sharding, "hybrid_sharding"},
    EnumName{Unsupported::optimizer_offload, "optimizer_offload"},
    EnumName{Unsupported::replicated_optimizer_offload, "replicated_optimizer_offload"},
    EnumName{Unsupported::layer_offload, "layer_offload"},
    EnumName{Unsupported::offload_modules, "offload_modules"},
    EnumName{Unsupported::cuda_graphs, "cuda_graphs"}};
constexpr std::string_view name_of(Unsupported v) { return name_in(kUnsupportedNames, v); }

// One bit for each Unsupported.
using UnsupportedBits = std::uint64_t;
static_assert(kUnsupportedNames.size() <= 64);
constexpr UnsupportedBits lack_bit(Unsupported what) {
  return UnsupportedBits{1} << static_cast<unsigned>(what);
}

// Reason and source for each unsupported feature; empty: everything is supported.
struct FeatureLimits {
  std::array<std::string, kUnsupportedNames.size()> reasons;
  [[nodiscard]] const std::string& reason(Unsupported what) const {
    return reasons[static_cast<std::size_t>(what)];
  }
  [[nodiscard]] bool lacks(Unsupported what) const { return !reason(what).empty(); }
  [[nodiscard]] UnsupportedBits bits() const {
    UnsupportedBits all = 0;
    for (const auto& [what, name] : kUnsupportedNames) {
      if (lacks(what)) all |= lack_bit(what);
    }
    return all;
  }
  bool operator==(const FeatureLimits&) const = default;
};

}  // namespace meshwright
