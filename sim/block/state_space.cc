// SPDX-License-Identifier: Apache-2.0
// State space of Mamba-2 (arXiv 2405.21060). I = heads x head width, B = groups x state size:
// h -> 2I + 2B + heads are a gate, values, what enters the state and what reads it, and a step
// width a head; the convolution, which has a bias, runs over all but the gate and the step widths.
#include "sim/block/recurrent.h"

namespace meshwright {

RecurrentMixer state_space_mixer(const Model& model) {
  const StateSpace& space = *model.state_space;
  const std::int64_t heads = space.mamba_num_heads, values = heads * space.mamba_head_dim;
  const std::int64_t shared = 2 * std::int64_t{space.mamba_num_groups} * space.mamba_state_dim;
  RecurrentMixer mixer{.plural = "Mamba-2 layers",
                       .inputs = {recurrent_input(model, 2 * values + shared + heads)},
                       .projection = recurrent_projection(model, values),
                       .channels = values + shared,
                       .positions = space.mamba_conv_kernel_dim,
                       .norm = space.mamba_norm,
                       .state = values * space.mamba_state_dim,
                       .heads_name = "mamba_num_heads",
                       .heads = space.mamba_num_heads,
                       .groups = space.mamba_num_groups,
                       .exchanged = "b*s*(3*i+2*groups*n+heads)*w/(c*t)"};
  LayerPart& input = mixer.inputs.front();
  // A decay, a skip and a bias of the step width a head; the gated norm's weight.
  input.cut_numbers =
      (mixer.positions + 1) * mixer.channels + 3 * heads + (mixer.norm ? values : 0);
  input.group_outputs = shared;
  input.groups = space.mamba_num_groups;
  return mixer;
}

}  // namespace meshwright
