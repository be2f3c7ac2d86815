// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/message_format.h"

#include <algorithm>
#include <array>

#include "sim/block/transfer_names.h"

namespace meshwright::calibrate {
namespace {

namespace names = transfer_names;

constexpr std::array kOfWeights{names::kUpdatedWeightAllGather,
                                names::kWeightGather,
                                names::kWeightGatherAgain,
                                names::kFirstUnitGather,
                                names::kUnitGather,
                                names::kUnitGatherAgain,
                                names::kRootGather};
constexpr std::array kOfGradients{names::kGradientAllReduce,
                                  names::kGradientReduceScatter,
                                  names::kShardAllReduce,
                                  names::kFirstUnitReduceScatter,
                                  names::kUnitReduceScatter,
                                  names::kRootReduceScatter,
                                  names::kReplicatedGradientAllReduce,
                                  names::kSharedEmbeddingAllReduce,
                                  names::kMirroredGradientAllReduce};
constexpr std::array kOfRouter{
    names::kRouterProbability,       names::kRouterProbabilityGradient,
    names::kExpertProbabilityGather, names::kExpertProbabilityGradientScatter,
    names::kGatheredExperts.combine, names::kGatheredExperts.combine_gradient};
constexpr std::array kAlwaysWide{names::kCrossEntropyAllReduce, names::kLossAllReduce,
                                 names::kRoutingMapGather, kMeanSquareAllReduce};

template <typename Names>
bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

MessageFormats message_formats(const Job& job) {
  if (!has_sixteen_bits(job.precision)) return {};
  MessageFormats formats{job.precision, job.precision, Precision::fp32,
                         job.moe_router_fp32 ? Precision::fp32 : job.precision};
  if (has_sixteen_bits(job.gradient_precision)) formats.gradients = job.gradient_precision;
  return formats;
}

Precision format_of(std::string_view transfer, const MessageFormats& formats) {
  if (has(kOfWeights, transfer)) return formats.weights;
  if (has(kOfGradients, transfer)) return formats.gradients;
  if (has(kOfRouter, transfer)) return formats.router;
  return has(kAlwaysWide, transfer) ? Precision::fp32 : formats.activations;
}

}  // namespace meshwright::calibrate
