// SPDX-License-Identifier: Apache-2.0
#include "sim/block/layer.h"

#include "sim/block/attention.h"
#include "sim/block/mlp.h"
#include "sim/block/recurrent.h"

namespace meshwright {
namespace {

constexpr LinearNames kMtpLinear{"mtp.projection", "", ""};
constexpr LinearNames kMixerStreams{"attention.stream_weights", "", ""};
constexpr LinearNames kMlpStreams{"mlp.stream_weights", "", ""};

}  // namespace

int layer_norms(const Model& model, LayerKind kind) {
  const int after = model.post_layer_norms ? 1 : 0;
  const bool one_norm = model.parallel_attention_mlp && model.parallel_shared_layer_norm;
  const int mixer = model.num_attention_heads > 0 && kind.mixer ? 1 + after : 0;
  return mixer + (kind.mlp ? (one_norm ? 0 : 1) + after : 0);
}

namespace {

LayerParts mixer_parts(const Model& model, LayerKind kind) {
  if (!kind.mixer) return {};
  LayerParts parts;
  if (kind.linear_attention) parts = recurrent_mixer(model)->parts();
  if (!attends(kind)) return parts;
  for (const LayerPart& part : attention_parts(model, kind)) parts.push_back(part);
  return parts;
}

LayerParts mlp_parts(const Model& model, LayerKind kind) {
  if (!kind.mlp) return {};
  return kind.mixture_of_experts ? expert_parts(model) : dense_mlp_parts(model);
}

}  // namespace

LayerParts layer_parts(const Model& model, LayerKind kind) {
  LayerParts parts = mixer_parts(model, kind);
  for (const LayerPart& part : mlp_parts(model, kind)) parts.push_back(part);
  if (model.num_residual_streams > 1) {
    if (kind.mixer) parts.push_back(stream_weights(model, true));
    if (kind.mlp) parts.push_back(stream_weights(model, false));
  }
  parts.push_back(
      {.whole_numbers = layer_norms(model, kind) * norm_numbers(model, model.hidden_size)});
  return parts;
}

LayerPart stream_weights(const Model& model, bool mixer) {
  const std::int64_t streams = model.num_residual_streams, mixed = (streams + 2) * streams;
  return {.names = mixer ? &kMixerStreams : &kMlpStreams,
          .module = Module::norm,
          .inputs = streams * model.hidden_size,
          .outputs = mixed,
          .whole_numbers = mixed + 3};
}

LayerPart final_streams(const Model& model) {
  const std::int64_t streams = model.num_residual_streams;
  if (streams == 1) return {};
  return {.inputs = streams * model.hidden_size, .outputs = streams, .whole_numbers = streams + 1};
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
