// SPDX-License-Identifier: Apache-2.0
// The shape of Llama 3 8B.
#pragma once

#include "sim/model/model.h"

namespace meshwright {

inline Model llama_model() {
  Model model;
  model.name = "llama";
  model.num_layers = 32;
  model.hidden_size = 4096;
  model.ffn_hidden_size = 14336;
  model.num_attention_heads = 32;
  model.num_query_groups = 8;
  model.kv_channels = 128;
  model.vocab_size = 128256;
  model.activation = Activation::swiglu;
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::rope;
  model.add_bias_linear = false;
  model.tied_embeddings = false;
  return model;
}

}  // namespace meshwright
