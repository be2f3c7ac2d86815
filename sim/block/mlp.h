// SPDX-License-Identifier: Apache-2.0
// LayerParts of a dense MLP, of routed experts and of a shared expert.
#pragma once

#include "sim/block/part.h"

namespace meshwright {

// fc1 of an MLP holds gate and up of a gated activation; fc2 goes back to the hidden size.
struct MlpParts {
  LayerPart fc1, fc2;
};
MlpParts dense_mlp(const Model& model);
// A shared expert is a dense MLP without biases (Megatron-LM refuses them there).
MlpParts shared_expert_mlp(const Model& model);
MlpParts routed_experts(const Model& model);
// To and from the width that routed experts work on, where that is another (Nemotron 3); whole on
// each tensor rank (Megatron-LM moe/moe_layer.py, fc1_latent_proj and fc2_latent_proj).
LayerPart latent_down(const Model& model);
LayerPart latent_up(const Model& model);
LayerPart router_part(const Model& model);

LayerParts dense_mlp_parts(const Model& model);
LayerParts expert_parts(const Model& model);

}  // namespace meshwright
