// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/message_format.h"

#include <algorithm>
#include <array>

#include "sim/volume/transfer_names.h"

namespace meshwright::calibrate {
namespace {

using namespace transfer_names;

constexpr std::array kOfWeights{
    kUpdatedWeightAllGather, kWeightGather, kWeightGatherAgain, kFirstUnitGather, kUnitGather,
    kUnitGatherAgain,        kRootGather};
constexpr std::array kOfGradients{
    kGradientAllReduce,           kGradientReduceScatter,    kShardAllReduce,
    kFirstUnitReduceScatter,      kUnitReduceScatter,        kRootReduceScatter,
    kReplicatedGradientAllReduce, kSharedEmbeddingAllReduce, kMirroredGradientAllReduce};
constexpr std::array kAlwaysWide{
    kCrossEntropyAllReduce,     kLossAllReduce,           kRouterProbability,
    kRouterProbabilityGradient, kExpertProbabilityGather, kExpertProbabilityGradientScatter,
    kRoutingMapGather,          kGatheredExperts.combine, kGatheredExperts.combine_gradient,
    kMeanSquareAllReduce};

template <typename Names>
bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

MessageFormats message_formats(const Job& job) {
  if (!has_sixteen_bits(job.precision)) return {};
  MessageFormats formats{job.precision, job.precision, Precision::fp32};
  if (has_sixteen_bits(job.gradient_precision)) formats.gradients = job.gradient_precision;
  return formats;
}

Precision format_of(std::string_view transfer, const MessageFormats& formats) {
  if (has(kOfWeights, transfer)) return formats.weights;
  if (has(kOfGradients, transfer)) return formats.gradients;
  return has(kAlwaysWide, transfer) ? Precision::fp32 : formats.activations;
}

}  // namespace meshwright::calibrate
