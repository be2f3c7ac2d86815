// SPDX-License-Identifier: Apache-2.0
#include "sim/block/recurrent.h"

namespace meshwright {

LayerParts RecurrentMixer::parts() const {
  LayerParts all = inputs;
  all.push_back(projection);
  return all;
}

std::optional<RecurrentMixer> recurrent_mixer(const Model& model) {
  if (model.linear_attention) return delta_net_mixer(model);
  if (model.state_space) return state_space_mixer(model);
  if (model.selective_scan) return selective_scan_mixer(model);
  if (model.kimi_delta) return kimi_delta_mixer(model);
  if (model.short_convolution) return short_convolution_mixer(model);
  if (model.lightning_attention) return lightning_mixer(model);
  return {};
}

LayerPart recurrent_input(const Model& model, std::int64_t outputs) {
  return {.names = &kRecurrentInput,
          .module = Module::attention_linear,
          .quantized = kQuantizedAttentionInput,
          .split = Split::columns,
          .inputs = model.hidden_size,
          .outputs = outputs,
          .exchange = Exchange::input,
          .transfers = &transfer_names::kAttention};
}

LayerPart recurrent_projection(const Model& model, std::int64_t inputs) {
  return {.names = &kRecurrentProjection,
          .module = Module::attention_linear,
          .quantized = kQuantizedAttentionOutput,
          .split = Split::rows,
          .inputs = inputs,
          .outputs = model.hidden_size,
          .exchange = Exchange::output,
          .transfers = &transfer_names::kAttention};
}

}  // namespace meshwright
