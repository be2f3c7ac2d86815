// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/weights.h"

#include <algorithm>

#include "sim/base/error.h"

namespace meshwright {
namespace {

constexpr std::int64_t kVocabularyPadding = 64;
constexpr double kPlainWeight = 2.0;  // bytes of a 16-bit weight

double stored_bytes(const WeightScheme& scheme, unsigned part) {
  return (scheme.quantized & part) != 0 ? quantized_weight_bytes(scheme) : kPlainWeight;
}

// Columns and rows of the query-key-value projections of one layer, as weights.
double attention_input_weights(const Model& m) {
  const double h = m.hidden_size;
  if (!m.mla) {
    return h * static_cast<double>(query_size(m) + 2 * key_size(m));
  }
  const LatentAttention& a = *m.mla;
  const double heads = m.num_attention_heads;
  const double query = static_cast<double>(query_size(m));
  const double up_query = a.q_lora_rank > 0 ? a.q_lora_rank * query : h * query;
  return up_query + a.kv_lora_rank * heads * (a.qk_head_dim + a.v_head_dim);
}
double latent_input_weights(const Model& m) {
  if (!m.mla) return 0;
  const LatentAttention& a = *m.mla;
  return static_cast<double>(m.hidden_size) *
         (a.q_lora_rank + a.kv_lora_rank + a.qk_pos_emb_head_dim);
}

double mlp_weight_count(const Model& m, double width) {
  return (is_gated(m.activation) ? 3.0 : 2.0) * m.hidden_size * width;
}

// Key-value heads are repeated where there are fewer than tensor ranks.
double tensor_share_of_input(const Model& m, const LayerWeights& w, int tp) {
  if (m.mla || m.num_query_groups == 0 || tp <= m.num_query_groups) return w.attention_input / tp;
  const double key_value = 2.0 * m.hidden_size * m.kv_channels;  // one head's
  const double query = static_cast<double>(m.hidden_size) * static_cast<double>(query_size(m));
  return query / tp + key_value;
}

struct RankLayerBytes {
  double attention = 0, dense = 0, experts = 0;
};

RankLayerBytes rank_layer_bytes(const Model& m, LayerKind kind, const ReplicaOptions& options) {
  const LayerWeights w = layer_weights(m, kind);
  const WeightScheme& s = options.weights;
  const int tp = options.layout.tensor_parallel_size;
  RankLayerBytes bytes;
  bytes.attention = (tensor_share_of_input(m, w, tp) + w.latent_input) *
                        stored_bytes(s, kQuantizedAttentionInput) +
                    w.attention_output / tp * stored_bytes(s, kQuantizedAttentionOutput);
  bytes.dense = w.dense_mlp / tp * stored_bytes(s, kQuantizedDenseMlp) +
                w.shared_experts / tp * stored_bytes(s, kQuantizedSharedExperts) +
                w.unquantized * kPlainWeight;
  const int ranks = options.layout.expert_parallel_size * expert_tensor_size(options.layout);
  bytes.experts = w.experts / ranks * stored_bytes(s, kQuantizedExperts);
  return bytes;
}

// Of one rank, without embedding and head.
ReplicaWeights weights_of_layers(const Model& m, const ReplicaOptions& options, int first,
                                 int count) {
  RankLayerBytes sum;
  for (int i = first; i < first + count; ++i) {
    const RankLayerBytes one = rank_layer_bytes(m, layer_kind(m, i), options);
    sum.attention += one.attention;
    sum.dense += one.dense;
    sum.experts += one.experts;
  }
  return {bytes(sum.attention), bytes(sum.dense), bytes(sum.experts), {}, {}, {}};
}

Bytes draft_weights(const Model& m, const ReplicaOptions& options) {
  if (options.num_speculative_tokens == 0 || m.mtp_num_layers == 0) return {};
  const RankLayerBytes one = rank_layer_bytes(m, layer_kind(m, m.num_layers - 1), options);
  const double joined = 2.0 * m.hidden_size * m.hidden_size * kPlainWeight;
  return bytes(m.mtp_num_layers * (one.attention + one.dense + one.experts + joined));
}

}  // namespace

double quantized_weight_bytes(const WeightScheme& scheme) {
  switch (scheme.format) {
    case WeightFormat::fp8:
      return 1.0;
    case WeightFormat::fp8_block:
      return 1.0 + 4.0 / (128.0 * 128.0);
    case WeightFormat::mxfp8:
      return 1.0 + 1.0 / 32;
    case WeightFormat::int4:
      return 0.5 + (scheme.zero_points ? 2.5 : 2.0) / scheme.group_size;
    case WeightFormat::mxfp4:
      return 0.5 + 1.0 / 32;
    case WeightFormat::nvfp4:
      return 0.5 + 1.0 / 16;
    case WeightFormat::bf16:
      break;
  }
  return kPlainWeight;
}

LayerWeights layer_weights(const Model& m, LayerKind kind) {
  LayerWeights w;
  w.attention_input = attention_input_weights(m);
  w.latent_input = latent_input_weights(m);
  w.attention_output = static_cast<double>(attention_output_size(m)) * m.hidden_size;
  const bool experts = kind.mixture_of_experts && m.moe.has_value();
  if (experts) {
    w.shared_experts = mlp_weight_count(m, m.moe->moe_shared_expert_intermediate_size);
    w.experts = m.moe->num_moe_experts * mlp_weight_count(m, m.moe->moe_ffn_hidden_size);
  } else {
    w.dense_mlp = mlp_weight_count(m, m.ffn_hidden_size);
  }
  // Norms, router and biases are what is left of the counted parameters.
  const double counted = static_cast<double>(layer_parameters(m, kind).total());
  w.unquantized = counted - w.attention_input - w.latent_input - w.attention_output - w.dense_mlp -
                  w.shared_experts - w.experts;
  return w;
}

std::int64_t served_vocab_size(const Model& m) {
  return (m.vocab_size + kVocabularyPadding - 1) / kVocabularyPadding * kVocabularyPadding;
}

ReplicaWeights replica_weights(const Model& m, const ReplicaOptions& options) {
  const int pp = options.layout.pipeline_parallel_size;
  const int layers = (m.num_layers + pp - 1) / pp;
  const double table = static_cast<double>(served_vocab_size(m)) * m.hidden_size /
                       options.layout.tensor_parallel_size;
  const Bytes embedding = bytes(table * kPlainWeight);
  // A tied head is the embedding, which stays in 16 bits.
  const Bytes head =
      m.tied_embeddings ? embedding : bytes(table * stored_bytes(options.weights, kQuantizedHead));

  ReplicaWeights last = weights_of_layers(m, options, m.num_layers - layers, layers);
  last.drafts = draft_weights(m, options);
  if (pp == 1) {
    last.embedding = embedding;
    if (!m.tied_embeddings) last.head = head;
    return last;
  }
  last.head = head;
  ReplicaWeights first = weights_of_layers(m, options, 0, layers);
  first.embedding = embedding;
  return first.total() > last.total() ? first : last;
}

Bytes checkpoint_bytes(const Model& m, const WeightScheme& scheme) {
  double sum = 0;
  for (int i = 0; i < m.num_layers; ++i) {
    const LayerWeights w = layer_weights(m, layer_kind(m, i));
    sum += (w.attention_input + w.latent_input) * stored_bytes(scheme, kQuantizedAttentionInput) +
           w.attention_output * stored_bytes(scheme, kQuantizedAttentionOutput) +
           w.dense_mlp * stored_bytes(scheme, kQuantizedDenseMlp) +
           w.shared_experts * stored_bytes(scheme, kQuantizedSharedExperts) +
           w.experts * stored_bytes(scheme, kQuantizedExperts) + w.unquantized * kPlainWeight;
  }
  sum += static_cast<double>(embedding_parameters(m, m.vocab_size)) * kPlainWeight;
  sum +=
      static_cast<double>(head_parameters(m, m.vocab_size)) * stored_bytes(scheme, kQuantizedHead);
  return bytes(sum);
}

WeightScheme usual_scheme(WeightFormat format, const Model& model) {
  WeightScheme scheme{.format = format};
  if (format == WeightFormat::mxfp4) scheme.quantized = kQuantizedExperts;
  if (format == WeightFormat::nvfp4 && model.moe) {
    scheme.quantized &= ~(kQuantizedAttentionInput | kQuantizedAttentionOutput);
  }
  if (format == WeightFormat::int4 && model.mla) {
    scheme.group_size = 32;  // Kimi-K2: symmetric, routed experts alone
    scheme.quantized = kQuantizedExperts;
  } else if (format == WeightFormat::int4) {
    scheme.zero_points = true;
  }
  return scheme;
}

}  // namespace meshwright
