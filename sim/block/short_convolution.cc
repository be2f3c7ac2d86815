// SPDX-License-Identifier: Apache-2.0
// Short convolution (LFM2): h -> 3h are two gates and values; the first gate weighs what enters the
// convolution, the second what leaves it.
#include "sim/block/recurrent.h"

namespace meshwright {

RecurrentMixer short_convolution_mixer(const Model& model) {
  RecurrentMixer mixer{.plural = "short convolutions",
                       .inputs = {recurrent_input(model, 3 * std::int64_t{model.hidden_size})},
                       .projection = recurrent_projection(model, model.hidden_size),
                       .channels = model.hidden_size,
                       .positions = model.short_convolution->short_conv_kernel_dim,
                       .norm = false,
                       .heads_name = "hidden_size",
                       .heads = model.hidden_size,
                       .exchanged = "b*s*4*h*w/(c*t)"};
  mixer.inputs.front().cut_numbers = mixer.positions * mixer.channels;
  return mixer;
}

}  // namespace meshwright
