// SPDX-License-Identifier: Apache-2.0
#include "sim/model/model.h"

namespace meshwright {

LayerKind layer_kind(const Model& model, int index) {
  LayerKind kind;
  if (model.moe) {
    const int since_first = index - model.moe->num_first_dense_layers;
    kind.mixture_of_experts = since_first >= 0 && since_first % model.moe->moe_layer_interval == 0;
  }
  if (!model.hybrid_layer_pattern.empty()) {
    const char letter = model.hybrid_layer_pattern[static_cast<std::size_t>(index)];
    kind.mixer = letter != '-' && letter != 'E';
    kind.mlp = letter != 'M' && letter != '*';
    kind.linear_attention = letter == 'M' || letter == 'm' || letter == 'b';
    kind.attention_beside = letter == 'b';
    kind.without_indexer = letter == 's';
    kind.sliding_window = letter == 'w';
    const bool by_turn = kind.mixer && kind.mlp && kind.mixture_of_experts;
    kind.mixture_of_experts = letter == 'E' || by_turn;
  } else if (model.linear_attention) {
    kind.linear_attention = (index + 1) % model.linear_attention->linear_attention_freq != 0;
  }
  // Every layer of compressed attention has the window.
  const bool by_turn = model.sliding_window > 0 && !model.compressed_attention;
  if (by_turn && kind.mixer && !kind.linear_attention) {
    const int interval = model.sliding_window_interval;
    kind.sliding_window = interval == 1 || (index + 1) % interval != 0;
  }
  return kind;
}

bool has_dense_mlp(const Model& model) {
  const std::string& pattern = model.hybrid_layer_pattern;
  if (pattern.find('-') != std::string::npos) return true;
  if (!pattern.empty() && pattern.find_first_of("mabws") == std::string::npos) return false;
  return !model.moe || model.moe->num_first_dense_layers > 0 || model.moe->moe_layer_interval > 1;
}

std::int64_t expert_hidden_size(const Model& model) {
  return model.moe->moe_latent_size > 0 ? model.moe->moe_latent_size : model.hidden_size;
}

std::int64_t query_size(const Model& model) {
  const std::int64_t heads = model.num_attention_heads;
  if (!model.mla) return heads * model.kv_channels;
  return heads * (model.mla->qk_head_dim + model.mla->qk_pos_emb_head_dim);
}

std::int64_t key_size(const Model& model) {
  // Latent attention expands a key for each head; the rotary part of it is shared.
  if (model.mla) return query_size(model);
  return std::int64_t{model.num_query_groups} * model.kv_channels;
}

std::int64_t attention_output_size(const Model& model) {
  const std::int64_t heads = model.num_attention_heads;
  return heads * (model.mla ? model.mla->v_head_dim : model.kv_channels);
}

}  // namespace meshwright
