// SPDX-License-Identifier: Apache-2.0
// The small model whose workloads the tests count by hand.
#pragma once

#include "sim/model/model.h"

namespace meshwright::calibrate {

inline Model two_layers() {
  Model model;
  model.num_layers = 2;
  model.hidden_size = 64;
  model.ffn_hidden_size = 256;
  model.num_attention_heads = 4;
  model.num_query_groups = 4;
  model.kv_channels = 16;
  model.vocab_size = 1024;
  return model;
}

}  // namespace meshwright::calibrate
