// SPDX-License-Identifier: Apache-2.0
// The layer whose operators the tests count.
#pragma once

#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/operators/operators.h"

namespace meshwright {

// GPT-3 175B's layer: h = 12288, a = 96, f = 4h.
inline Model gpt3() {
  Model model;
  model.num_layers = 96;
  model.hidden_size = 12288;
  model.ffn_hidden_size = 49152;
  model.num_attention_heads = 96;
  model.num_query_groups = 96;
  model.kv_channels = 128;
  model.vocab_size = 51200;
  model.max_position_embeddings = 2048;
  return model;
}

// Its MLP as eight gated experts of 1,024 columns, two for each token.
inline Model eight_experts() {
  Model model = gpt3();
  model.activation = Activation::swiglu;
  model.moe =
      MixtureOfExperts{.num_moe_experts = 8, .moe_router_topk = 2, .moe_ffn_hidden_size = 1024};
  return model;
}

inline Job job_2048(AttentionKernel kernel) {
  Job job;
  job.seq_length = 2048;
  job.global_batch_size = 1536;
  job.attention_kernel = kernel;
  return job;
}

inline Flops forward_flops(const std::vector<Operator>& ops) {
  return std::accumulate(ops.begin(), ops.end(), Flops{},
                         [](Flops sum, const Operator& op) { return sum + op.forward_flops; });
}

inline const Operator& find(const std::vector<Operator>& ops, std::string_view name) {
  for (const Operator& op : ops) {
    if (op.name == name) return op;
  }
  throw std::out_of_range(std::string(name));
}

}  // namespace meshwright
