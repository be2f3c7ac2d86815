// SPDX-License-Identifier: Apache-2.0
#include "sim/model/parameters.h"

#include <algorithm>

namespace meshwright {
namespace {

std::int64_t norm_parameters(const Model& model, std::int64_t width) {
  switch (model.normalization) {
    case Normalization::none:
      return 0;
    case Normalization::layer_norm:
      return 2 * width;
    case Normalization::rms_norm:
      return width;
  }
  return 0;
}

// alpha_p and alpha_n, one of each for a layer (arXiv 2411.13010, equation 9); beta is fixed.
constexpr std::int64_t kXieluParameters = 2;

std::int64_t mlp_inputs(const Model& model) { return is_gated(model.activation) ? 2 : 1; }

// DeepSeek-V3.2 (arXiv 2512.02556), 2.1: queries of the indexer's heads from the latent query, one
// key with a layer norm, and a weight a head. Each tensor rank holds all of it.
std::int64_t indexer_parameters(const Model& model) {
  const LatentAttention& mla = *model.mla;
  if (mla.dsa_indexer_n_heads == 0) return 0;
  const std::int64_t h = model.hidden_size;
  const std::int64_t heads = mla.dsa_indexer_n_heads;
  const std::int64_t width = mla.dsa_indexer_head_dim;
  const std::int64_t query_input = mla.q_lora_rank > 0 ? mla.q_lora_rank : h;
  return query_input * heads * width + h * width + 2 * width + h * heads;
}

// DeepSeek-V2 (arXiv 2405.04434), 2.1: down projections, a norm on each latent vector, up
// projections split by heads.
LayerParameters latent_projections(const Model& model) {
  const LatentAttention& mla = *model.mla;
  const std::int64_t h = model.hidden_size;
  const std::int64_t q_rank = mla.q_lora_rank;
  const std::int64_t kv_rank = mla.kv_lora_rank;
  LayerParameters count;
  if (q_rank > 0) {
    count.replicated += h * q_rank + norm_parameters(model, q_rank);
    count.sharded += q_rank * query_size(model);
  } else {
    count.sharded += h * query_size(model);
  }
  count.replicated += h * (kv_rank + mla.qk_pos_emb_head_dim) + norm_parameters(model, kv_rank);
  count.sharded += kv_rank * model.num_attention_heads * (mla.qk_head_dim + mla.v_head_dim);
  count.replicated += indexer_parameters(model);
  return count;
}

LayerParameters query_key_value(const Model& model) {
  const std::int64_t width = query_size(model) + 2 * key_size(model);
  LayerParameters count;
  count.sharded = width * model.hidden_size;
  if (model.add_bias_linear || model.add_qkv_bias) count.sharded += width;
  if (model.qk_layernorm && model.qk_layernorm_all_heads) {
    count.sharded += norm_parameters(model, query_size(model) + key_size(model));
  } else if (model.qk_layernorm) {
    count.replicated = 2 * norm_parameters(model, model.kv_channels);
  }
  return count;
}

LayerParameters attention_parameters(const Model& model) {
  if (model.num_attention_heads == 0) return {};
  LayerParameters count = model.mla ? latent_projections(model) : query_key_value(model);
  count.sharded += attention_output_size(model) * model.hidden_size;
  if (model.attention_sinks) count.sharded += model.num_attention_heads;
  if (model.add_bias_linear) count.replicated += model.hidden_size;
  return count;
}

LayerParameters dense_mlp_parameters(const Model& model) {
  const std::int64_t h = model.hidden_size;
  const std::int64_t f = model.ffn_hidden_size;
  LayerParameters count;
  count.sharded = (mlp_inputs(model) + 1) * h * f;
  if (model.add_bias_linear) {
    count.sharded += mlp_inputs(model) * f;
    count.replicated += h;
  }
  if (model.activation == Activation::xielu) count.replicated += kXieluParameters;
  return count;
}

std::int64_t one_expert_parameters(const Model& model) {
  const std::int64_t h = model.hidden_size;
  const std::int64_t f = model.moe->moe_ffn_hidden_size;
  const std::int64_t biases = model.moe->moe_expert_bias ? mlp_inputs(model) * f + h : 0;
  return (mlp_inputs(model) + 1) * h * f + biases;
}

// A shared expert is a dense MLP without biases (Megatron-LM refuses them there).
LayerParameters expert_mlp_parameters(const Model& model) {
  const MixtureOfExperts& moe = *model.moe;
  const std::int64_t h = model.hidden_size;
  const std::int64_t experts = moe.num_moe_experts;
  LayerParameters count;
  count.expert = experts * one_expert_parameters(model);
  count.replicated = h * experts + (moe.moe_router_bias ? experts : 0);
  count.sharded = (mlp_inputs(model) + 1) * h * moe.moe_shared_expert_intermediate_size;
  return count;
}

// Norms over the hidden state in one layer: in front of attention, in front of the MLP, after each.
int layer_norms(const Model& model) {
  const int after = model.post_layer_norms ? 1 : 0;
  const bool one_norm = model.parallel_attention_mlp && model.parallel_shared_layer_norm;
  const int attention = model.num_attention_heads > 0 ? 1 + after : 0;
  return attention + (one_norm ? 0 : 1) + after;
}

void add_parameters(LayerParameters& sum, const LayerParameters& part) {
  sum.sharded += part.sharded;
  sum.replicated += part.replicated;
  sum.expert += part.expert;
}

}  // namespace

LayerParameters layer_parameters(const Model& model, LayerKind kind) {
  LayerParameters count = attention_parameters(model);
  add_parameters(
      count, kind.mixture_of_experts ? expert_mlp_parameters(model) : dense_mlp_parameters(model));
  count.replicated += layer_norms(model) * norm_parameters(model, model.hidden_size);
  return count;
}

std::int64_t embedding_parameters(const Model& model, std::int64_t vocab_rows) {
  if (model.vocab_size == 0) return 0;
  const std::int64_t h = model.hidden_size;
  std::int64_t count = vocab_rows * h;
  if (model.position_embedding == PositionEmbedding::learned) {
    count += model.max_position_embeddings * h;
  }
  if (model.embedding_layer_norm) count += norm_parameters(model, h);
  return count;
}

std::int64_t head_parameters(const Model& model, std::int64_t vocab_rows) {
  if (model.vocab_size == 0) return 0;
  const std::int64_t h = model.hidden_size;
  return norm_parameters(model, h) + (model.tied_embeddings ? 0 : vocab_rows * h);
}

LayerParameters mtp_layer_parameters(const Model& model) {
  const std::int64_t h = model.hidden_size;
  LayerParameters count = layer_parameters(model, layer_kind(model, model.num_layers - 1));
  count.sharded += 2 * h * h;
  count.replicated += 3 * norm_parameters(model, h);
  return count;
}

bool is_countable(const Model& model) {
  const auto d = [](auto value) { return static_cast<double>(value); };
  double width = d(query_size(model)) + 2.0 * d(key_size(model)) + d(attention_output_size(model)) +
                 3.0 * d(model.ffn_hidden_size) + 6.0;
  if (model.mla) width += d(model.mla->q_lora_rank) + d(model.mla->kv_lora_rank);
  double layer = width * d(model.hidden_size);
  if (model.mla) {
    const double rank = std::max(d(model.mla->q_lora_rank), d(model.mla->kv_lora_rank));
    layer += 3.0 * rank * (d(query_size(model)) + d(attention_output_size(model)));
    const double indexer = d(model.mla->dsa_indexer_n_heads) + 1.0;
    layer += (rank + d(model.hidden_size)) * indexer * (d(model.mla->dsa_indexer_head_dim) + 1.0);
  }
  if (model.moe) {
    const double widths = d(model.moe->num_moe_experts) * (d(model.moe->moe_ffn_hidden_size) + 1.0);
    layer +=
        4.0 * d(model.hidden_size) * (widths + d(model.moe->moe_shared_expert_intermediate_size));
  }
  const double rows = 2.0 * d(model.vocab_size) + d(model.max_position_embeddings);
  const double layers = d(model.num_layers) + d(model.mtp_num_layers);
  return layers * (layer + 2.0 * d(model.hidden_size) * d(model.hidden_size)) +
             rows * d(model.hidden_size) <
         1e18;
}

std::int64_t total_parameters(const Model& model) {
  std::int64_t count =
      embedding_parameters(model, model.vocab_size) + head_parameters(model, model.vocab_size);
  for (int i = 0; i < model.num_layers; ++i) {
    count += layer_parameters(model, layer_kind(model, i)).total();
  }
  return count;
}

std::int64_t active_parameters(const Model& model) {
  std::int64_t count = total_parameters(model);
  if (!model.moe) return count;
  const int idle = model.moe->num_moe_experts - model.moe->moe_router_topk;
  for (int i = 0; i < model.num_layers; ++i) {
    if (layer_kind(model, i).mixture_of_experts) count -= idle * one_expert_parameters(model);
  }
  return count;
}

std::int64_t padded_vocab_size(const Model& model, int divisible_by, int tensor_parallel_size) {
  const std::int64_t multiple = std::int64_t{divisible_by} * tensor_parallel_size;
  return (model.vocab_size + multiple - 1) / multiple * multiple;
}

}  // namespace meshwright
