// SPDX-License-Identifier: Apache-2.0
#include "sim/block/mlp.h"

namespace meshwright {
namespace {

constexpr LinearNames kMlpFc1{"mlp.fc1", "mlp.quantize_fc1", "mlp.dequantize_fc1"};
constexpr LinearNames kMlpFc2{"mlp.fc2", "mlp.quantize_fc2", "mlp.dequantize_fc2"};
constexpr LinearNames kSharedFc1{"shared_expert.fc1", "shared_expert.quantize_fc1",
                                 "shared_expert.dequantize_fc1"};
constexpr LinearNames kSharedFc2{"shared_expert.fc2", "shared_expert.quantize_fc2",
                                 "shared_expert.dequantize_fc2"};
constexpr LinearNames kExpertFc1{"experts.fc1", "experts.quantize_fc1", "experts.dequantize_fc1"};
constexpr LinearNames kExpertFc2{"experts.fc2", "experts.quantize_fc2", "experts.dequantize_fc2"};
constexpr LinearNames kRouterLinear{"router", "", ""};
constexpr LinearNames kLatentDown{"experts.latent_down", "", ""};
constexpr LinearNames kLatentUp{"experts.latent_up", "", ""};

// alpha_p and alpha_n, one of each for a layer (arXiv 2411.13010, equation 9); beta is fixed.
constexpr std::int64_t kXieluNumbers = 2;

struct MlpSizes {
  std::int64_t hidden, width;
};

MlpParts mlp_parts(const Model& model, MlpSizes sizes, const LayerPart& common,
                   const LinearNames& fc1, const LinearNames& fc2) {
  MlpParts parts{common, common};
  parts.fc1.names = &fc1;
  parts.fc1.split = Split::columns;
  parts.fc1.inputs = sizes.hidden;
  parts.fc1.outputs = mlp_inputs(model) * sizes.width;
  parts.fc2.names = &fc2;
  parts.fc2.split = Split::rows;
  parts.fc2.inputs = sizes.width;
  parts.fc2.outputs = sizes.hidden;
  if (common.transfers == nullptr) return parts;
  parts.fc1.exchange = Exchange::input;
  parts.fc2.exchange = Exchange::output;
  return parts;
}

}  // namespace

MlpParts dense_mlp(const Model& model) {
  MlpParts parts = mlp_parts(
      model, {model.hidden_size, model.ffn_hidden_size},
      {.module = Module::mlp, .quantized = kQuantizedDenseMlp, .transfers = &transfer_names::kMlp},
      kMlpFc1, kMlpFc2);
  if (model.add_bias_linear) {
    parts.fc1.cut_numbers = parts.fc1.outputs;
    parts.fc2.whole_numbers = model.hidden_size;
  }
  if (model.activation == Activation::xielu) parts.fc1.whole_numbers = kXieluNumbers;
  return parts;
}

MlpParts shared_expert_mlp(const Model& model) {
  return mlp_parts(model, {model.hidden_size, model.moe->moe_shared_expert_intermediate_size},
                   {.module = Module::shared_expert,
                    .quantized = kQuantizedSharedExperts,
                    .transfers = &transfer_names::kSharedExpert},
                   kSharedFc1, kSharedFc2);
}

MlpParts routed_experts(const Model& model) {
  const MixtureOfExperts& moe = *model.moe;
  MlpParts parts = mlp_parts(
      model, {expert_hidden_size(model), moe.moe_ffn_hidden_size},
      {.module = Module::experts, .quantized = kQuantizedExperts, .experts = moe.num_moe_experts},
      kExpertFc1, kExpertFc2);
  if (moe.moe_expert_bias) {
    parts.fc1.cut_numbers = parts.fc1.outputs;
    parts.fc2.whole_numbers = parts.fc2.outputs;
  }
  return parts;
}

LayerPart latent_down(const Model& model) {
  return {.names = &kLatentDown,
          .module = Module::router,
          .inputs = model.hidden_size,
          .outputs = model.moe->moe_latent_size};
}

LayerPart latent_up(const Model& model) {
  return {.names = &kLatentUp,
          .module = Module::router,
          .inputs = model.moe->moe_latent_size,
          .outputs = model.hidden_size};
}

LayerPart router_part(const Model& model) {
  const std::int64_t experts = model.moe->num_moe_experts;
  return {.names = &kRouterLinear,
          .module = Module::router,
          .inputs = model.hidden_size,
          .outputs = experts,
          .whole_numbers = model.moe->moe_router_bias ? experts : 0};
}

LayerParts dense_mlp_parts(const Model& model) {
  const auto [fc1, fc2] = dense_mlp(model);
  return {fc1, fc2};
}

LayerParts expert_parts(const Model& model) {
  const auto [fc1, fc2] = routed_experts(model);
  LayerParts parts{router_part(model), fc1, fc2};
  if (model.moe->moe_latent_size > 0) {
    parts.push_back(latent_down(model));
    parts.push_back(latent_up(model));
  }
  if (model.moe->moe_shared_expert_intermediate_size == 0) return parts;
  const auto [shared_fc1, shared_fc2] = shared_expert_mlp(model);
  parts.push_back(shared_fc1);
  parts.push_back(shared_fc2);
  if (model.moe->moe_shared_expert_gate) {
    parts.push_back({.module = Module::shared_expert, .inputs = model.hidden_size, .outputs = 1});
  }
  return parts;
}

}  // namespace meshwright
