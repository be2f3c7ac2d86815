// SPDX-License-Identifier: Apache-2.0
// Lightning attention (MiniMax-01, arXiv 2501.08313). D = heads x head width: h -> 4D are queries,
// keys and values, which an activation follows, and an output gate. Decays are fixed.
#include "sim/block/recurrent.h"

namespace meshwright {

RecurrentMixer lightning_mixer(const Model& model) {
  const Lightning& lightning = *model.lightning_attention;
  const std::int64_t columns =
      std::int64_t{lightning.lightning_num_heads} * lightning.lightning_head_dim;
  RecurrentMixer mixer{.plural = "lightning attentions",
                       .inputs = {recurrent_input(model, 4 * columns)},
                       .projection = recurrent_projection(model, columns),
                       .channels = 3 * columns,
                       .state = columns * lightning.lightning_head_dim,
                       .state_bytes = 2.0,
                       .heads_name = "lightning_num_heads",
                       .heads = lightning.lightning_num_heads,
                       .exchanged = "b*s*5*d*w/(c*t)"};
  mixer.inputs.front().cut_numbers = columns;  // the norm's weight
  return mixer;
}

}  // namespace meshwright
