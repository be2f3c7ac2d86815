// SPDX-License-Identifier: Apache-2.0
#include "sim/block/layer.h"

#include "sim/block/attention.h"
#include "sim/block/delta_net.h"
#include "sim/block/mlp.h"

namespace meshwright {
namespace {

constexpr LinearNames kMtpLinear{"mtp.projection", "", ""};

}  // namespace

int layer_norms(const Model& model) {
  const int after = model.post_layer_norms ? 1 : 0;
  const bool one_norm = model.parallel_attention_mlp && model.parallel_shared_layer_norm;
  const int attention = model.num_attention_heads > 0 ? 1 + after : 0;
  return attention + (one_norm ? 0 : 1) + after;
}

LayerParts layer_parts(const Model& model, LayerKind kind) {
  LayerParts parts = kind.linear_attention ? delta_net_parts(model) : attention_parts(model);
  for (const LayerPart& part :
       kind.mixture_of_experts ? expert_parts(model) : dense_mlp_parts(model)) {
    parts.push_back(part);
  }
  parts.push_back({.whole_numbers = layer_norms(model) * norm_numbers(model, model.hidden_size)});
  return parts;
}

LayerPart mtp_projection(const Model& model) {
  const std::int64_t h = model.hidden_size;
  return {.names = &kMtpLinear,
          .module = Module::head,
          .split = Split::columns,
          .inputs = 2 * h,
          .outputs = h,
          .whole_numbers = 3 * norm_numbers(model, h)};
}

}  // namespace meshwright
