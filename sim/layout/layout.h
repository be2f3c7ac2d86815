// SPDX-License-Identifier: Apache-2.0
// One way to spread a model over ranks. Plain values, so that millions can be enumerated.
// Field names are Megatron-LM's without `_model`. Defaults are one rank and nothing special.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "sim/base/enum_names.h"
#include "sim/layout/pipeline_layout.h"
#include "sim/schedule/pipeline_schedule.h"

namespace meshwright {

// Whose pipeline runs. Nanotron gives out layers by what they and the output linear cost
// (models/base.py) and wants p - 1 micro-batches at least (pipeline_parallel/engine.py). DeepSpeed
// sends every message in pieces of its tensor ranks (runtime/pipe/engine.py, pipe_partitioned and
// grad_partitioned). Neither interleaves.
enum class PipelineEngine { megatron, nanotron, deepspeed };
inline constexpr std::array kPipelineEngineNames{EnumName{PipelineEngine::megatron, "megatron"},
                                                 EnumName{PipelineEngine::nanotron, "nanotron"},
                                                 EnumName{PipelineEngine::deepspeed, "deepspeed"}};
constexpr std::string_view name_of(PipelineEngine v) { return name_in(kPipelineEngineNames, v); }

// Whose collectives run inside a layer. Megatron-LM saves a rank's piece of a column-parallel
// linear's input, gathers it again for the weight gradient, and sums the gradients of weights that
// tensor ranks share once a step. PyTorch's DTensor keeps the gathered input and sums such a
// gradient whenever it is made; FSDP2 shards each weight by rows, padded to its ranks
// (torch/distributed/tensor; fsdp/_fully_shard/_fsdp_param.py). spmd_types is DTensor's way for
// torchtitan 0.3.0, whose recompute by operator keeps no collective.
enum class TensorEngine { megatron, dtensor, spmd_types };
inline constexpr std::array kTensorEngineNames{EnumName{TensorEngine::megatron, "megatron"},
                                               EnumName{TensorEngine::dtensor, "dtensor"},
                                               EnumName{TensorEngine::spmd_types, "spmd_types"}};
constexpr std::string_view name_of(TensorEngine v) { return name_in(kTensorEngineNames, v); }

enum class RecomputeGranularity { none, selective, full };
inline constexpr std::array kRecomputeGranularityNames{
    EnumName{RecomputeGranularity::none, "none"},
    EnumName{RecomputeGranularity::selective, "selective"},
    EnumName{RecomputeGranularity::full, "full"}};
constexpr std::string_view name_of(RecomputeGranularity v) {
  return name_in(kRecomputeGranularityNames, v);
}

enum class RecomputeMethod { uniform, block };
inline constexpr std::array kRecomputeMethodNames{EnumName{RecomputeMethod::uniform, "uniform"},
                                                  EnumName{RecomputeMethod::block, "block"}};
constexpr std::string_view name_of(RecomputeMethod v) { return name_in(kRecomputeMethodNames, v); }

enum class ContextParallelAlgorithm { p2p, all_gather, a2a, a2a_p2p };  // cp_comm_type
inline constexpr std::array kContextParallelAlgorithmNames{
    EnumName{ContextParallelAlgorithm::p2p, "p2p"},
    EnumName{ContextParallelAlgorithm::all_gather, "all_gather"},
    EnumName{ContextParallelAlgorithm::a2a, "a2a"},
    EnumName{ContextParallelAlgorithm::a2a_p2p, "a2a+p2p"}};
constexpr std::string_view name_of(ContextParallelAlgorithm v) {
  return name_in(kContextParallelAlgorithmNames, v);
}

// Modules of a layer, as bits of an enumeration.
template <typename Module>
struct ModuleSet {
  std::uint8_t bits = 0;
  [[nodiscard]] constexpr bool has(unsigned modules) const { return (bits & modules) != 0; }
  bool operator==(const ModuleSet&) const = default;
};

// Modules that selective recompute can repeat (Megatron --recompute-modules).
enum RecomputeModule : std::uint8_t {
  kRecomputeCoreAttention = 1,
  kRecomputeLayerNorm = 2,      // norms that are modules of their own (Module::layer_norm)
  kRecomputeMoeActivation = 4,  // of experts
  kRecomputeMlp = 8,            // of dense layers
  kRecomputeMlaUpProjection = 16,
  kRecomputeMoe = 32,  // all of a layer of experts, its transfers and the shared expert too
  kRecomputeSharedExperts = 64,
  kRecomputeOp = 128,  // torchtitan's choice by operator, alone: sim/operators/op_recompute.cc
};
inline constexpr std::array kRecomputeModuleNames{
    EnumName{kRecomputeCoreAttention, "core_attn"},
    EnumName{kRecomputeLayerNorm, "layernorm"},
    EnumName{kRecomputeMoeActivation, "moe_act"},
    EnumName{kRecomputeMlaUpProjection, "mla_up_proj"},
    EnumName{kRecomputeMlp, "mlp"},
    EnumName{kRecomputeMoe, "moe"},
    EnumName{kRecomputeSharedExperts, "shared_experts"},
    EnumName{kRecomputeOp, "op"}};
using RecomputeModules = ModuleSet<RecomputeModule>;

// Modules whose inputs can go to the host until their backward pass (Megatron --offload-modules).
enum OffloadModule : std::uint8_t {
  kOffloadAttentionNorm = 1,
  kOffloadQkvLinear = 2,
  kOffloadCoreAttention = 4,
  kOffloadAttentionProjection = 8,
  kOffloadMlpNorm = 16,
  kOffloadExpertFc1 = 32,
  kOffloadMoeActivation = 64,
};
inline constexpr std::array kOffloadModuleNames{EnumName{kOffloadAttentionNorm, "attn_norm"},
                                                EnumName{kOffloadQkvLinear, "qkv_linear"},
                                                EnumName{kOffloadCoreAttention, "core_attn"},
                                                EnumName{kOffloadAttentionProjection, "attn_proj"},
                                                EnumName{kOffloadMlpNorm, "mlp_norm"},
                                                EnumName{kOffloadExpertFc1, "expert_fc1"},
                                                EnumName{kOffloadMoeActivation, "moe_act"}};
using OffloadModules = ModuleSet<OffloadModule>;

// Modules that PyTorch FSDP wraps: each is gathered, freed and reduced as a unit. The root has what
// no unit has: the whole model if nothing inside is wrapped. none: no FSDP; ZeRO as in Megatron-LM
// and DeepSpeed.
enum class FsdpUnit { none, block, module, whole };
inline constexpr std::array kFsdpUnitNames{
    EnumName{FsdpUnit::none, "none"}, EnumName{FsdpUnit::block, "block"},
    EnumName{FsdpUnit::module, "module"}, EnumName{FsdpUnit::whole, "whole"}};
constexpr std::string_view name_of(FsdpUnit v) { return name_in(kFsdpUnitNames, v); }

// Embedding and head under FSDP: in the root, which stays gathered; or a unit each, the head with
// the final norm. The embedding is freed like a block; freed_units free the head after its forward,
// too (torchtitan fsdp_reshard_after_forward always).
enum class FsdpVocabulary { root, units, freed_units };
inline constexpr std::array kFsdpVocabularyNames{
    EnumName{FsdpVocabulary::root, "root"}, EnumName{FsdpVocabulary::units, "units"},
    EnumName{FsdpVocabulary::freed_units, "freed_units"}};
constexpr std::string_view name_of(FsdpVocabulary v) { return name_in(kFsdpVocabularyNames, v); }

// Dispatcher of tokens to their experts (Megatron-LM --moe-token-dispatcher-type). Every rank
// gathers all tokens; or each copy of a token goes to its expert's rank; or one copy goes to every
// NVLink domain with experts of the token, and is passed on inside it.
enum class MoeTokenDispatcherType { allgather, alltoall, flex };
inline constexpr std::array kMoeTokenDispatcherTypeNames{
    EnumName{MoeTokenDispatcherType::allgather, "allgather"},
    EnumName{MoeTokenDispatcherType::alltoall, "alltoall"},
    EnumName{MoeTokenDispatcherType::flex, "flex"}};
constexpr std::string_view name_of(MoeTokenDispatcherType v) {
  return name_in(kMoeTokenDispatcherTypeNames, v);
}

// Library of the flex dispatcher (--moe-flex-dispatcher-backend).
enum class MoeFlexDispatcherBackend { deepep, hybridep, ncclep };
inline constexpr std::array kMoeFlexDispatcherBackendNames{
    EnumName{MoeFlexDispatcherBackend::deepep, "deepep"},
    EnumName{MoeFlexDispatcherBackend::hybridep, "hybridep"},
    EnumName{MoeFlexDispatcherBackend::ncclep, "ncclep"}};
constexpr std::string_view name_of(MoeFlexDispatcherBackend v) {
  return name_in(kMoeFlexDispatcherBackendNames, v);
}

// Part of a step that the host submits as one CUDA graph instead of kernel by kernel
// (--cuda-graph-impl).
enum class CudaGraphImpl { none, local, transformer_engine, full_iteration };
inline constexpr std::array kCudaGraphImplNames{
    EnumName{CudaGraphImpl::none, "none"}, EnumName{CudaGraphImpl::local, "local"},
    EnumName{CudaGraphImpl::transformer_engine, "transformer_engine"},
    EnumName{CudaGraphImpl::full_iteration, "full_iteration"}};
constexpr std::string_view name_of(CudaGraphImpl v) { return name_in(kCudaGraphImplNames, v); }

// The parts of a layer that graphs hold (--cuda-graph-modules), of local and transformer_engine:
// those sets that a layer with experts can have whose tokens none is dropped of.
enum class CudaGraphModules {
  attn,
  moe_router,
  moe_router_preprocess,
  attn_moe_router,
  attn_moe_router_preprocess
};
inline constexpr std::array kCudaGraphModulesNames{
    EnumName{CudaGraphModules::attn, "attn"}, EnumName{CudaGraphModules::moe_router, "moe_router"},
    EnumName{CudaGraphModules::moe_router_preprocess, "moe_router+moe_preprocess"},
    EnumName{CudaGraphModules::attn_moe_router, "attn+moe_router"},
    EnumName{CudaGraphModules::attn_moe_router_preprocess, "attn+moe_router+moe_preprocess"}};
constexpr std::string_view name_of(CudaGraphModules v) {
  return name_in(kCudaGraphModulesNames, v);
}

enum class Axis : std::uint8_t { tensor, context, expert, data, pipeline };
inline constexpr std::array kAxisNames{EnumName{Axis::tensor, "tp"}, EnumName{Axis::context, "cp"},
                                       EnumName{Axis::expert, "ep"}, EnumName{Axis::data, "dp"},
                                       EnumName{Axis::pipeline, "pp"}};
constexpr std::string_view name_of(Axis v) { return name_in(kAxisNames, v); }

using RankOrder = std::array<Axis, 5>;  // innermost (fastest varying rank) first

struct Layout {
  int tensor_parallel_size = 1;
  int pipeline_parallel_size = 1;
  PipelineLayout pipeline_layout{};        // none: stages as below
  int virtual_pipeline_parallel_size = 1;  // model chunks a stage
  int data_parallel_size = 1;
  int context_parallel_size = 1;
  int expert_parallel_size = 1;
  int expert_tensor_parallel_size = 0;  // 0: same as tensor_parallel_size
  bool sequence_parallel = false;
  TensorEngine tensor_engine = TensorEngine::megatron;

  int micro_batch_size = 1;
  PipelineSchedule schedule = kDefaultSchedule;
  PipelineEngine pipeline_engine = PipelineEngine::megatron;
  int num_layers_in_first_pipeline_stage = 0;  // 0: even split
  int num_layers_in_last_pipeline_stage = 0;
  // The embedding, or the loss, counts as a layer when layers are divided over stages and chunks.
  bool account_for_embedding_in_pipeline_split = false;
  bool account_for_loss_in_pipeline_split = false;
  bool scatter_gather_p2p = false;  // send 1/t across, all-gather inside (Narayanan 2021, 4.1)

  int zero_stage = 0;       // 0..3; 1 is Megatron's distributed optimizer
  int zero_shard_size = 0;  // ranks that share one copy (hybrid sharding); 0: all data ranks
  FsdpUnit fsdp_unit = FsdpUnit::none;  // with zero_stage 1 to 3, see uses_fsdp
  FsdpVocabulary fsdp_vocabulary = FsdpVocabulary::root;
  // FSDP's no_sync: whole gradients add up over several micro-batches and are reduced once a step.
  bool defer_grad_reduce = false;

  // With zero_stage 1: after the last backward every rank sums all gradients, steps with its share
  // of them and gathers the weights, and nothing runs beside it (DeepSpeed's BF16_Optimizer,
  // Nanotron). Megatron-LM gives each rank the sums of its share alone, beside the backward.
  bool all_reduce_gradients = false;

  RecomputeGranularity recompute_granularity = RecomputeGranularity::none;
  RecomputeMethod recompute_method = RecomputeMethod::uniform;
  int recompute_num_layers = 0;  // full: layers of each stage that are recomputed; 0: all
  RecomputeModules recompute_modules{kRecomputeCoreAttention};  // selective

  ContextParallelAlgorithm cp_comm_type = ContextParallelAlgorithm::p2p;
  int hierarchical_context_parallel_size = 0;  // a2a group inside a2a_p2p

  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  bool tp_comm_overlap = false;
  bool overlap_p2p_comm = false;

  MoeTokenDispatcherType moe_token_dispatcher_type = MoeTokenDispatcherType::alltoall;
  MoeFlexDispatcherBackend moe_flex_dispatcher_backend = MoeFlexDispatcherBackend::deepep;
  // One micro-batch's tokens travel while another one is computed.
  bool overlap_moe_expert_parallel_comm = false;
  bool delay_wgrad_compute = false;        // weight gradients of experts fill in, too
  bool moe_shared_expert_overlap = false;  // the shared expert runs while tokens travel

  CudaGraphImpl cuda_graph_impl = CudaGraphImpl::none;
  CudaGraphModules cuda_graph_modules = CudaGraphModules::attn_moe_router_preprocess;

  bool optimizer_offload = false;     // optimizer states and step on the host
  int cpu_offloading_num_layers = 0;  // layers a stage whose activations go to the host
  OffloadModules offload_modules{};   // fine_grained_activation_offloading, where there are any

  // Megatron's default order tp-cp-ep-dp-pp.
  RankOrder rank_order{Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline};

  bool operator==(const Layout&) const = default;
};
static_assert(std::is_trivially_copyable_v<Layout>);

// Tells whether selective recompute runs one of these modules again.
constexpr bool recomputes_module(const Layout& l, unsigned modules) {
  return l.recompute_granularity == RecomputeGranularity::selective &&
         l.recompute_modules.has(modules);
}

// Tells whether layers run PyTorch's collectives (TensorEngine).
constexpr bool uses_dtensor(const Layout& l) { return l.tensor_engine != TensorEngine::megatron; }

constexpr bool offloads_activations(const Layout& l) {
  return l.cpu_offloading_num_layers > 0 || l.offload_modules.bits != 0;
}

// Ranks a layout occupies: tensor x pipeline x data x context (Megatron arguments.py; the expert
// mesh lies over the same ranks and does not multiply).
constexpr int world_size(const Layout& l) {
  return l.tensor_parallel_size * l.pipeline_parallel_size * l.data_parallel_size *
         l.context_parallel_size;
}
// Ranks along an axis of the dense mesh; experts lie over its other axes.
constexpr int axis_size(const Layout& l, Axis axis) {
  switch (axis) {
    case Axis::tensor:
      return l.tensor_parallel_size;
    case Axis::context:
      return l.context_parallel_size;
    case Axis::data:
      return l.data_parallel_size;
    case Axis::pipeline:
      return l.pipeline_parallel_size;
    case Axis::expert:
      break;
  }
  return 1;
}
constexpr int expert_tensor_size(const Layout& l) {
  return l.expert_tensor_parallel_size == 0 ? l.tensor_parallel_size
                                            : l.expert_tensor_parallel_size;
}
// Data-parallel size of the expert parameters: world / (etp x ep x pp) (Megatron
// parallel_state.py).
constexpr int expert_data_parallel_size(const Layout& l) {
  return l.tensor_parallel_size * l.data_parallel_size * l.context_parallel_size /
         (expert_tensor_size(l) * l.expert_parallel_size);
}
// Ranks over which dense gradients are reduced: data x context.
constexpr int gradient_group_size(const Layout& l) {
  return l.data_parallel_size * l.context_parallel_size;
}
// With zero_stage 1 under software that sums whole gradients after the last backward, nothing of
// the data-parallel side runs beside a pass (all_reduce_gradients).
constexpr bool reduces_after_backward(const Layout& l) {
  return l.zero_stage == 1 && l.all_reduce_gradients;
}
// PyTorch FSDP keeps all states sharded. zero_stage 3 frees a unit's parameters after its forward
// (reshard_after_forward, FULL_SHARD), 1 and 2 keep them to its backward (SHARD_GRAD_OP).
constexpr bool uses_fsdp(const Layout& l) {
  return l.fsdp_unit != FsdpUnit::none && l.zero_stage > 0;
}
// Below a pipeline a stage's parameters stay gathered from the first forward on, and its gradients
// whole until its last backward (torch.distributed.pipelining, stage.py).
constexpr bool fsdp_below_pipeline(const Layout& l) {
  return uses_fsdp(l) && l.pipeline_parallel_size > 1;
}
// Tells whether graphs hold a part of the layers; the whole step holds all.
constexpr bool captures_attention(const Layout& l) {
  if (l.cuda_graph_impl == CudaGraphImpl::none) return false;
  return l.cuda_graph_impl == CudaGraphImpl::full_iteration ||
         l.cuda_graph_modules == CudaGraphModules::attn ||
         l.cuda_graph_modules == CudaGraphModules::attn_moe_router ||
         l.cuda_graph_modules == CudaGraphModules::attn_moe_router_preprocess;
}
constexpr bool captures_router(const Layout& l) {
  if (l.cuda_graph_impl == CudaGraphImpl::none) return false;
  return l.cuda_graph_impl == CudaGraphImpl::full_iteration ||
         l.cuda_graph_modules != CudaGraphModules::attn;
}
constexpr bool captures_experts(const Layout& l) {
  return l.cuda_graph_impl == CudaGraphImpl::full_iteration;
}
// Ranks that share one copy of ZeRO-sharded state.
constexpr int zero_shard_group_size(const Layout& l) {
  return l.zero_shard_size == 0 ? gradient_group_size(l) : l.zero_shard_size;
}
// The same for the experts: as many copies as of the dense state, where their group divides so
// (Megatron-LM --num-distributed-optimizer-instances), else one copy.
constexpr int expert_shard_group_size(const Layout& l) {
  const int ranks = expert_data_parallel_size(l);
  const int copies = gradient_group_size(l) / zero_shard_group_size(l);
  return ranks % copies == 0 ? ranks / copies : ranks;
}
// Micro-batches a step that each pipeline works through.
constexpr int num_micro_batches(int global_batch_size, const Layout& l) {
  return global_batch_size / (l.micro_batch_size * l.data_parallel_size);
}

}  // namespace meshwright
