// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/kv_cache.h"

#include <algorithm>

#include "sim/block/recurrent.h"

namespace meshwright {
namespace {

// FlashMLA's layout: 512 numbers in fp8, four fp32 scales, 64 rotary numbers in 16 bits.
constexpr double kFlashMlaBytes = 512.0 + 16.0 + 128.0;
// An indexer's key in fp8 and its fp32 scale.
double indexer_bytes(const LatentAttention& mla) {
  return mla.dsa_indexer_n_heads > 0 ? mla.dsa_indexer_head_dim + 4.0 : 0.0;
}

}  // namespace

bool has_kv_layout(const Model& m) {
  if (m.num_layers <= 0 || m.num_attention_heads <= 0) return false;
  const std::string& pattern = m.hybrid_layer_pattern;
  if (!pattern.empty() && pattern.find_first_of("*a") == std::string::npos) return false;
  return m.mla ? m.mla->kv_lora_rank > 0 : m.num_query_groups > 0 && m.kv_channels > 0;
}

CachedLayers cached_layers(const Model& m, int pipeline_parallel_size) {
  const int layers = (m.num_layers + pipeline_parallel_size - 1) / pipeline_parallel_size;
  CachedLayers found;
  for (int i = m.num_layers - layers; i < m.num_layers; ++i) {
    const LayerKind kind = layer_kind(m, i);
    if (!kind.mixer) continue;
    (kind.linear_attention ? found.linear : kind.sliding_window ? found.window : found.full) += 1;
  }
  return found;
}

Bytes kv_layer_bytes(const Model& m, KvCacheFormat format) {
  if (m.mla) {
    const double numbers = m.mla->kv_lora_rank + m.mla->qk_pos_emb_head_dim;
    const double latent =
        format == KvCacheFormat::fp8_ds_mla ? kFlashMlaBytes : numbers * kv_number_bytes(format);
    return bytes(latent + indexer_bytes(*m.mla));
  }
  return bytes(2.0 * m.num_query_groups * m.kv_channels * kv_number_bytes(format));
}

Bytes state_layer_bytes(const Model& m) {
  const auto mixer = recurrent_mixer(m);
  if (!mixer) return {};
  constexpr double k16Bits = 2.0;
  const double convolution = static_cast<double>(mixer->positions * mixer->channels);
  return bytes(static_cast<double>(mixer->state) * mixer->state_bytes + convolution * k16Bits);
}

Bytes kv_token_bytes(const Model& m, KvCacheFormat format) {
  const CachedLayers layers = cached_layers(m, 1);
  return kv_layer_bytes(m, format) * (layers.full + layers.window);
}

double kv_replication(const Model& m, const ReplicaLayout& l) {
  const double tp = l.tensor_parallel_size;
  const double heads = m.mla ? 1.0 : m.num_query_groups;
  return std::max(1.0, tp / heads / l.decode_context_parallel_size);
}

Bytes kv_rank_layer_bytes(const Model& m, const ReplicaOptions& options) {
  const Bytes all = kv_layer_bytes(m, options.kv_cache);
  const double tp = options.layout.tensor_parallel_size;
  return all * (kv_replication(m, options.layout) / tp);
}

double CacheGroups::blocks_of(double tokens, int block_size) const {
  const auto blocks = [&](double held) { return in_blocks(held, block_size) / block_size; };
  return full * blocks(tokens) +
         window * (blocks(std::min(window_tokens, tokens)) + window_blocks) + state_blocks;
}

Bytes SequenceCache::bytes_of(double tokens) const {
  const double whole = in_blocks(tokens, block_size);
  Bytes sum = state + full_token * whole;
  if (window > 0) {
    sum += window_token * std::min(whole, in_blocks(window, block_size) + block_size);
  }
  return sum;
}

SequenceCache sequence_cache(const Model& m, const ReplicaOptions& options, int block_size) {
  const CachedLayers layers = cached_layers(m, options.layout.pipeline_parallel_size);
  const Bytes layer = kv_rank_layer_bytes(m, options);
  const Bytes states = state_layer_bytes(m) * (layers.linear / options.layout.tensor_parallel_size);
  return {layer * layers.full,
          layer * layers.window,
          layers.window > 0 ? static_cast<double>(m.sliding_window) : 0.0,
          block_size,
          states,
          {}};
}

}  // namespace meshwright
