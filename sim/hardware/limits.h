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

enum class Lack : std::uint8_t {
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
  layer_offload,  // cpu_offloading_num_layers
  offload_modules,
  cuda_graphs,
};
inline constexpr std::array kLackNames{
    EnumName{Lack::tensor_parallel, "tensor_parallel"},
    EnumName{Lack::pipeline_parallel, "pipeline_parallel"},
    EnumName{Lack::context_parallel, "context_parallel"},
    EnumName{Lack::fp8, "fp8"},
    EnumName{Lack::interleaving, "interleaving"},
    EnumName{Lack::split_backward, "split_backward"},
    EnumName{Lack::sequence_parallel, "sequence_parallel"},
    EnumName{Lack::tensor_without_sequence_parallel, "tensor_without_sequence_parallel"},
    EnumName{Lack::overlap_p2p_comm, "overlap_p2p_comm"},
    EnumName{Lack::distributed_optimizer, "distributed_optimizer"},
    EnumName{Lack::sharded_gradients, "sharded_gradients"},
    EnumName{Lack::fsdp, "fsdp"},
    EnumName{Lack::fsdp_below_pipeline, "fsdp_below_pipeline"},
    EnumName{Lack::replicas_beside_other_axes, "replicas_beside_other_axes"},
    EnumName{Lack::overlap_grad_reduce, "overlap_grad_reduce"},
    EnumName{Lack::overlap_param_gather, "overlap_param_gather"},
    EnumName{Lack::tp_comm_overlap, "tp_comm_overlap"},
    EnumName{Lack::experts, "experts"},
    EnumName{Lack::expert_parallel, "expert_parallel"},
    EnumName{Lack::expert_tensor_parallel, "expert_tensor_parallel"},
    EnumName{Lack::allgather_dispatcher, "allgather_dispatcher"},
    EnumName{Lack::flex_dispatcher, "flex_dispatcher"},
    EnumName{Lack::flex_dispatcher_across_nodes, "flex_dispatcher_across_nodes"},
    EnumName{Lack::deepep, "deepep"},
    EnumName{Lack::hybridep, "hybridep"},
    EnumName{Lack::ncclep, "ncclep"},
    EnumName{Lack::token_overlap, "token_overlap"},
    EnumName{Lack::shared_expert_overlap, "shared_expert_overlap"},
    EnumName{Lack::pipeline_layout, "pipeline_layout"},
    EnumName{Lack::uneven_stages, "uneven_stages"},
    EnumName{Lack::embedding_in_pipeline_split, "embedding_in_pipeline_split"},
    EnumName{Lack::scatter_gather_p2p, "scatter_gather_p2p"},
    EnumName{Lack::ring_context_parallel, "ring_context_parallel"},
    EnumName{Lack::all_gather_context_parallel, "all_gather_context_parallel"},
    EnumName{Lack::a2a_context_parallel, "a2a_context_parallel"},
    EnumName{Lack::selective_recompute, "selective_recompute"},
    EnumName{Lack::recompute_modules, "recompute_modules"},
    EnumName{Lack::partial_recompute, "partial_recompute"},
    EnumName{Lack::fp8_tensorwise, "fp8_tensorwise"},
    EnumName{Lack::fp8_blockwise, "fp8_blockwise"},
    EnumName{Lack::mxfp8, "mxfp8"},
    EnumName{Lack::fp4, "fp4"},
    EnumName{Lack::hybrid_sharding, "hybrid_sharding"},
    EnumName{Lack::optimizer_offload, "optimizer_offload"},
    EnumName{Lack::layer_offload, "layer_offload"},
    EnumName{Lack::offload_modules, "offload_modules"},
    EnumName{Lack::cuda_graphs, "cuda_graphs"}};
constexpr std::string_view name_of(Lack v) { return name_in(kLackNames, v); }

// One bit for each Lack.
using LackBits = std::uint64_t;
static_assert(kLackNames.size() <= 64);
constexpr LackBits lack_bit(Lack what) { return LackBits{1} << static_cast<unsigned>(what); }

// Reason and source for each unsupported feature; empty: everything is supported.
struct FeatureLimits {
  std::array<std::string, kLackNames.size()> reasons;
  [[nodiscard]] const std::string& reason(Lack what) const {
    return reasons[static_cast<std::size_t>(what)];
  }
  [[nodiscard]] bool lacks(Lack what) const { return !reason(what).empty(); }
  [[nodiscard]] LackBits bits() const {
    LackBits all = 0;
    for (const auto& [what, name] : kLackNames) {
      if (lacks(what)) all |= lack_bit(what);
    }
    return all;
  }
  bool operator==(const FeatureLimits&) const = default;
};

}  // namespace meshwright
