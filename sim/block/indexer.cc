// SPDX-License-Identifier: Apache-2.0
#include "sim/block/indexer.h"

namespace meshwright {
namespace {

constexpr LinearNames kIndexerQuery{"indexer.query", "", ""};
constexpr LinearNames kIndexerKey{"indexer.key", "", ""};
constexpr LinearNames kIndexerWeights{"indexer.weights", "", ""};

// Each tensor rank holds all of it.
LayerPart indexer_product(const LinearNames& names, std::int64_t inputs, std::int64_t outputs,
                          std::int64_t numbers = 0) {
  return {.names = &names,
          .module = Module::attention_linear,
          .inputs = inputs,
          .outputs = outputs,
          .whole_numbers = numbers,
          .forward_only = true};
}

}  // namespace

std::string_view indexed_attention(const Model& model) {
  if (model.compressed_attention) return "compressed attention";
  if (model.block_sparse_attention) return "block-sparse attention";
  if (model.mla && model.mla->dsa_indexer_n_heads > 0) return "an indexer in front of attention";
  return "";
}

SeenEntries seen_entries(const Model& model, LayerKind kind) {
  if (model.compressed_attention) {
    const CompressedAttention& compressed = *model.compressed_attention;
    const auto window = static_cast<double>(model.sliding_window);
    if (kind.sliding_window) return {window, 0, 0};
    if (kind.without_indexer) return {window, 1.0 * compressed.heavy_compress_rate, 0};
    return {window, 1.0 * compressed.sparse_compress_rate, 1.0 * compressed.indexer_topk};
  }
  if (kind.sliding_window) return {1.0 * model.sliding_window, 0, 0};
  // A layer without an indexer of its own reads what another layer's chose.
  if (model.mla && model.mla->dsa_indexer_n_heads > 0) {
    return {0, 1, 1.0 * model.mla->dsa_indexer_topk};
  }
  if (model.block_sparse_attention && !kind.without_indexer) {
    const BlockSparseAttention& sparse = *model.block_sparse_attention;
    return {0, 1, 1.0 * sparse.block_size * sparse.topk_blocks};
  }
  return {};
}

std::optional<Indexer> indexer_of(const Model& model, LayerKind kind) {
  if (!attends(kind) || kind.without_indexer || kind.sliding_window) return {};
  if (model.mla && model.mla->dsa_indexer_n_heads > 0) {
    return Indexer{model.mla->dsa_indexer_n_heads, model.mla->dsa_indexer_head_dim, true};
  }
  if (model.compressed_attention) {
    const CompressedAttention& compressed = *model.compressed_attention;
    return Indexer{compressed.indexer_n_heads, compressed.indexer_head_dim, false};
  }
  if (model.block_sparse_attention) {
    const BlockSparseAttention& sparse = *model.block_sparse_attention;
    return Indexer{sparse.indexer_n_heads, sparse.indexer_head_dim, false};
  }
  return {};
}

// DeepSeek-V3.2: queries from the latent query, one key with a layer norm, a weight a head.
// DeepSeek-V4: a compressor of its own makes the keys, each from two runs of tokens. MiniMax-M3:
// queries and a key with a norm each, no weights.
void append_indexer(LayerParts& parts, const Model& model, LayerKind kind) {
  const std::optional<Indexer> indexer = indexer_of(model, kind);
  if (!indexer) return;
  const std::int64_t h = model.hidden_size, heads = indexer->heads, width = indexer->width;
  if (model.block_sparse_attention) {
    parts.push_back(indexer_product(kIndexerQuery, h, heads * width, norm_numbers(model, width)));
    parts.push_back(indexer_product(kIndexerKey, h, width, norm_numbers(model, width)));
    return;
  }
  if (model.compressed_attention) {
    const CompressedAttention& compressed = *model.compressed_attention;
    const std::int64_t biases = compressed.sparse_compress_rate * 2 * width;
    parts.push_back(indexer_product(kIndexerQuery, compressed.q_lora_rank, heads * width));
    parts.push_back(
        indexer_product(kIndexerKey, h, 4 * width, biases + norm_numbers(model, width)));
  } else {
    const std::int64_t rank = model.mla->q_lora_rank;
    parts.push_back(indexer_product(kIndexerQuery, rank > 0 ? rank : h, heads * width));
    parts.push_back(indexer_product(kIndexerKey, h, width, 2 * width));
  }
  parts.push_back(indexer_product(kIndexerWeights, h, heads));
}

}  // namespace meshwright
