// SPDX-License-Identifier: Apache-2.0
// A GPT of 8 layers, small enough to look at every layout.
#pragma once

#include "sim/model/model.h"

namespace meshwright {

inline Model small_gpt() {
  Model model;
  model.name = "small";
  model.num_layers = 8;
  model.hidden_size = 1024;
  model.ffn_hidden_size = 4096;
  model.num_attention_heads = 16;
  model.num_query_groups = 16;
  model.kv_channels = 64;
  model.vocab_size = 32000;
  model.max_position_embeddings = 2048;
  return model;
}

}  // namespace meshwright
