// SPDX-License-Identifier: Apache-2.0
// Kimi delta attention (arXiv 2510.26692). D = heads x head width: h -> 3D + heads are queries,
// keys, values and a step width a head. Decays and the output gate come from two vectors as narrow
// as a head, which each tensor rank has whole; the convolution runs over queries, keys and values.
#include "sim/block/recurrent.h"

namespace meshwright {
namespace {

constexpr LinearNames kGateDown{"recurrent.gate_down", "recurrent.quantize_gate_down",
                                "recurrent.dequantize_gate_down"};
constexpr LinearNames kDecayUp{"recurrent.decay_up", "recurrent.quantize_decay_up",
                               "recurrent.dequantize_decay_up"};
constexpr LinearNames kGateUp{"recurrent.gate_up", "recurrent.quantize_gate_up",
                              "recurrent.dequantize_gate_up"};

}  // namespace

RecurrentMixer kimi_delta_mixer(const Model& model) {
  const KimiDelta& kda = *model.kimi_delta;
  const std::int64_t heads = kda.kda_num_heads, width = kda.kda_head_dim, columns = heads * width;
  RecurrentMixer mixer{.plural = "Kimi delta attentions",
                       .inputs = {recurrent_input(model, 3 * columns + heads)},
                       .projection = recurrent_projection(model, columns),
                       .channels = 3 * columns,
                       .positions = kda.kda_conv_kernel_dim,
                       .head_norm = width,
                       .state = columns * width,
                       .heads_name = "kda_num_heads",
                       .heads = kda.kda_num_heads,
                       .exchanged = "b*s*(6*d+heads)*w/(c*t)"};
  // A decay a head and a bias a channel.
  mixer.inputs.front().cut_numbers = mixer.positions * mixer.channels + heads + columns;
  mixer.inputs.front().whole_numbers = width;
  mixer.inputs.push_back({.names = &kGateDown,
                          .module = Module::attention_linear,
                          .quantized = kQuantizedAttentionInput,
                          .inputs = model.hidden_size,
                          .outputs = 2 * width});
  for (const LinearNames* up : {&kDecayUp, &kGateUp}) {
    mixer.inputs.push_back({.names = up,
                            .module = Module::attention_linear,
                            .quantized = kQuantizedAttentionInput,
                            .split = Split::columns,
                            .inputs = width,
                            .outputs = columns,
                            .exchange = Exchange::input,
                            .transfers = &transfer_names::kGates,
                            .exchanged = "b*s*d*w/c"});
  }
  return mixer;
}

}  // namespace meshwright
