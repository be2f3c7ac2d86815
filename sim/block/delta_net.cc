// SPDX-License-Identifier: Apache-2.0
// Gated delta net (arXiv 2412.06464), as Qwen3-Next has it. K = key heads x key width, V = value
// heads x value width, H value heads: h -> 2K + 2V + 2H are queries, keys, values, an output gate
// and two numbers a head; the convolution runs over queries, keys and values.
#include "sim/block/recurrent.h"

namespace meshwright {

RecurrentMixer delta_net_mixer(const Model& model) {
  const DeltaNet& net = *model.linear_attention;
  const std::int64_t heads = net.linear_num_value_heads, width = net.linear_value_head_dim;
  const std::int64_t keys = std::int64_t{net.linear_num_key_heads} * net.linear_key_head_dim;
  const std::int64_t values = heads * width;
  RecurrentMixer mixer{.plural = "gated delta nets",
                       .inputs = {recurrent_input(model, 2 * keys + 2 * values + 2 * heads)},
                       .projection = recurrent_projection(model, values),
                       .channels = 2 * keys + values,
                       .positions = net.linear_conv_kernel_dim,
                       .head_norm = width,
                       .state = values * net.linear_key_head_dim,
                       .heads_name = "linear_num_key_heads",
                       .heads = net.linear_num_key_heads,
                       .exchanged = "b*s*(2*k+3*v+2*heads)*w/(c*t)"};
  // A decay and a step width a head.
  mixer.inputs.front().cut_numbers = mixer.positions * mixer.channels + 2 * heads;
  mixer.inputs.front().whole_numbers = width;
  return mixer;
}

}  // namespace meshwright
