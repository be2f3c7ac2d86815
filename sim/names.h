// SPDX-License-Identifier: Apache-2.0
// The words for enumerators: the same in C++, JSON, command line and report.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "sim/estimate.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/placement.h"
#include "sim/job.h"
#include "sim/json/reader.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright {

inline constexpr std::array kNormalizationNames{EnumName{Normalization::none, "none"},
                                                EnumName{Normalization::layer_norm, "layer_norm"},
                                                EnumName{Normalization::rms_norm, "rms_norm"}};
inline constexpr std::array kPositionEmbeddingNames{
    EnumName{PositionEmbedding::none, "none"}, EnumName{PositionEmbedding::learned, "learned"},
    EnumName{PositionEmbedding::rope, "rope"}, EnumName{PositionEmbedding::alibi, "alibi"}};
inline constexpr std::array kActivationNames{
    EnumName{Activation::relu, "relu"}, EnumName{Activation::gelu, "gelu"},
    EnumName{Activation::swiglu, "swiglu"}, EnumName{Activation::geglu, "geglu"}};
inline constexpr std::array kPrecisionNames{
    EnumName{Precision::fp32, "fp32"}, EnumName{Precision::tf32, "tf32"},
    EnumName{Precision::fp16, "fp16"}, EnumName{Precision::bf16, "bf16"},
    EnumName{Precision::fp8, "fp8"}};
inline constexpr std::array kOptimizerNames{EnumName{Optimizer::adam, "adam"},
                                            EnumName{Optimizer::sgd, "sgd"}};
inline constexpr std::array kAttentionKernelNames{EnumName{AttentionKernel::flash, "flash"},
                                                  EnumName{AttentionKernel::unfused, "unfused"}};
inline constexpr std::array kKernelFusionNames{EnumName{KernelFusion::fused, "fused"},
                                               EnumName{KernelFusion::eager, "eager"}};
inline constexpr std::array kPipelineEngineNames{EnumName{PipelineEngine::megatron, "megatron"},
                                                 EnumName{PipelineEngine::nanotron, "nanotron"}};
inline constexpr std::array kPipelineScheduleNames{
    EnumName{PipelineSchedule::gpipe, "gpipe"},
    EnumName{PipelineSchedule::one_f_one_b, "1f1b"},
    EnumName{PipelineSchedule::interleaved, "interleaved"},
    EnumName{PipelineSchedule::zb_h1, "zb_h1"},
    EnumName{PipelineSchedule::zb_h2, "zb_h2"},
    EnumName{PipelineSchedule::zb_v, "zb_v"},
    EnumName{PipelineSchedule::dualpipe, "dualpipe"}};
inline constexpr std::array kRecomputeGranularityNames{
    EnumName{RecomputeGranularity::none, "none"},
    EnumName{RecomputeGranularity::selective, "selective"},
    EnumName{RecomputeGranularity::full, "full"}};
inline constexpr std::array kRecomputeMethodNames{EnumName{RecomputeMethod::uniform, "uniform"},
                                                  EnumName{RecomputeMethod::block, "block"}};
inline constexpr std::array kRecomputeModuleNames{
    EnumName{kRecomputeCoreAttention, "core_attn"}, EnumName{kRecomputeLayerNorm, "layernorm"},
    EnumName{kRecomputeMlpActivation, "mlp_act"}, EnumName{kRecomputeMlp, "mlp"},
    EnumName{kRecomputeMlaUpProjection, "mla_up_proj"}};
inline constexpr std::array kContextParallelAlgorithmNames{
    EnumName{ContextParallelAlgorithm::p2p, "p2p"},
    EnumName{ContextParallelAlgorithm::all_gather, "all_gather"},
    EnumName{ContextParallelAlgorithm::a2a, "a2a"},
    EnumName{ContextParallelAlgorithm::a2a_p2p, "a2a+p2p"}};
inline constexpr std::array kAxisNames{EnumName{Axis::tensor, "tp"}, EnumName{Axis::context, "cp"},
                                       EnumName{Axis::expert, "ep"}, EnumName{Axis::data, "dp"},
                                       EnumName{Axis::pipeline, "pp"}};
inline constexpr std::array kProvenanceNames{EnumName{Provenance::measured, "measured"},
                                             EnumName{Provenance::interpolated, "interpolated"},
                                             EnumName{Provenance::fitted, "fitted"},
                                             EnumName{Provenance::extrapolated, "extrapolated"},
                                             EnumName{Provenance::datasheet, "datasheet"},
                                             EnumName{Provenance::assumed, "assumed"}};
inline constexpr std::array kCollectiveNames{EnumName{Collective::all_reduce, "all_reduce"},
                                             EnumName{Collective::all_gather, "all_gather"},
                                             EnumName{Collective::reduce_scatter, "reduce_scatter"},
                                             EnumName{Collective::all_to_all, "all_to_all"},
                                             EnumName{Collective::broadcast, "broadcast"},
                                             EnumName{Collective::send_recv, "send_recv"}};
inline constexpr std::array kTierNames{EnumName{Tier::self, "self"},
                                       EnumName{Tier::intra_node, "intra_node"},
                                       EnumName{Tier::inter_node, "inter_node"}};
inline constexpr std::array kNodeFabricNames{EnumName{NodeFabric::nvswitch, "nvswitch"},
                                             EnumName{NodeFabric::pcie, "pcie"},
                                             EnumName{NodeFabric::shared_memory, "shared_memory"}};
inline constexpr std::array kNetworkFabricNames{
    EnumName{NetworkFabric::rail_optimised, "rail_optimised"},
    EnumName{NetworkFabric::fat_tree, "fat_tree"}};
inline constexpr std::array kGroupNames{EnumName{Group::tensor, "tensor"},
                                        EnumName{Group::context, "context"},
                                        EnumName{Group::data, "data"},
                                        EnumName{Group::pipeline, "pipeline"},
                                        EnumName{Group::expert, "expert"},
                                        EnumName{Group::expert_tensor, "expert_tensor"},
                                        EnumName{Group::expert_data, "expert_data"},
                                        EnumName{Group::embedding, "embedding"},
                                        EnumName{Group::model, "model"}};
inline constexpr std::array kPhaseNames{
    EnumName{Phase::forward, "forward"}, EnumName{Phase::backward, "backward"},
    EnumName{Phase::recompute, "recompute"}, EnumName{Phase::step, "step"}};
inline constexpr std::array kTermNames{
    EnumName{TermKind::forward_compute, "forward_compute"},
    EnumName{TermKind::backward_compute, "backward_compute"},
    EnumName{TermKind::recompute, "recompute"},
    EnumName{TermKind::tensor_parallel_communication, "tensor_parallel_communication"},
    EnumName{TermKind::context_parallel_communication, "context_parallel_communication"},
    EnumName{TermKind::expert_parallel_communication, "expert_parallel_communication"},
    EnumName{TermKind::pipeline_communication, "pipeline_communication"},
    EnumName{TermKind::pipeline_bubble, "pipeline_bubble"},
    EnumName{TermKind::data_parallel_communication, "data_parallel_communication"},
    EnumName{TermKind::optimizer, "optimizer"},
    EnumName{TermKind::host, "host"},
    EnumName{TermKind::offload, "offload"}};

// The name of an enumerator; tables above list each once.
template <typename Enum, std::size_t N>
constexpr std::string_view name_in(const std::array<EnumName<Enum>, N>& names, Enum value) {
  for (const auto& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

constexpr std::string_view name_of(Normalization v) { return name_in(kNormalizationNames, v); }
constexpr std::string_view name_of(PositionEmbedding v) {
  return name_in(kPositionEmbeddingNames, v);
}
constexpr std::string_view name_of(Activation v) { return name_in(kActivationNames, v); }
constexpr std::string_view name_of(Precision v) { return name_in(kPrecisionNames, v); }
constexpr std::string_view name_of(Optimizer v) { return name_in(kOptimizerNames, v); }
constexpr std::string_view name_of(AttentionKernel v) { return name_in(kAttentionKernelNames, v); }
constexpr std::string_view name_of(KernelFusion v) { return name_in(kKernelFusionNames, v); }
constexpr std::string_view name_of(PipelineEngine v) { return name_in(kPipelineEngineNames, v); }
constexpr std::string_view name_of(PipelineSchedule v) {
  return name_in(kPipelineScheduleNames, v);
}
constexpr std::string_view name_of(RecomputeGranularity v) {
  return name_in(kRecomputeGranularityNames, v);
}
constexpr std::string_view name_of(RecomputeMethod v) { return name_in(kRecomputeMethodNames, v); }
constexpr std::string_view name_of(RecomputeModule v) { return name_in(kRecomputeModuleNames, v); }
constexpr std::string_view name_of(ContextParallelAlgorithm v) {
  return name_in(kContextParallelAlgorithmNames, v);
}
constexpr std::string_view name_of(Axis v) { return name_in(kAxisNames, v); }
constexpr std::string_view name_of(Provenance v) { return name_in(kProvenanceNames, v); }
constexpr std::string_view name_of(Collective v) { return name_in(kCollectiveNames, v); }
constexpr std::string_view name_of(Tier v) { return name_in(kTierNames, v); }
constexpr std::string_view name_of(NodeFabric v) { return name_in(kNodeFabricNames, v); }
constexpr std::string_view name_of(NetworkFabric v) { return name_in(kNetworkFabricNames, v); }
constexpr std::string_view name_of(Group v) { return name_in(kGroupNames, v); }
constexpr std::string_view name_of(Phase v) { return name_in(kPhaseNames, v); }
constexpr std::string_view name_of(TermKind v) { return name_in(kTermNames, v); }

std::string name_of(const RankOrder& order);  // "tp-cp-ep-dp-pp"

// "tp8 pp4 dp16 mbs2 sp zero1 recompute=selective": the sizes that are not 1 and the switches that
// are on.
std::string short_name(const Layout& layout);

}  // namespace meshwright
