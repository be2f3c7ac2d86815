// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/kv_cache.h"

#include <algorithm>

#include "sim/block/indexer.h"
#include "sim/block/recurrent.h"

namespace meshwright {
namespace {

// FlashMLA's layout: 512 numbers in fp8, four fp32 scales, 64 rotary numbers in 16 bits.
constexpr double kFlashMlaBytes = 512.0 + 16.0 + 128.0;

// One position's keys and values, or one entry's.
double entry_bytes(const Model& m, KvCacheFormat format) {
  if (m.mla) {
    const double numbers = m.mla->kv_lora_rank + m.mla->qk_pos_emb_head_dim;
    return format == KvCacheFormat::fp8_ds_mla ? kFlashMlaBytes : numbers * kv_number_bytes(format);
  }
  const double vectors = m.compressed_attention ? 1.0 : 2.0;
  return vectors * m.num_query_groups * m.kv_channels * kv_number_bytes(format);
}

int fullest_stage_layers(const Model& m, int stages) {
  return (m.num_layers + stages - 1) / stages;
}

}  // namespace

bool has_kv_layout(const Model& m) {
  if (m.num_layers <= 0 || m.num_attention_heads <= 0) return false;
  const std::string& pattern = m.hybrid_layer_pattern;
  if (!pattern.empty() && pattern.find_first_of("*abws") == std::string::npos) return false;
  return m.mla ? m.mla->kv_lora_rank > 0 : m.num_query_groups > 0 && m.kv_channels > 0;
}

CachedLayers cached_layers(const Model& m, int pipeline_parallel_size) {
  CachedLayers found;
  for (int i = m.num_layers - fullest_stage_layers(m, pipeline_parallel_size); i < m.num_layers;
       ++i) {
    const LayerKind kind = layer_kind(m, i);
    if (kind.linear_attention) found.linear += 1;
    if (attends(kind)) (kind.sliding_window ? found.window : found.full) += 1;
  }
  return found;
}

TokenBytes kv_layer_bytes(const Model& m, LayerKind kind, KvCacheFormat format) {
  if (!attends(kind)) return {};
  const double entry = entry_bytes(m, format);
  const SeenEntries seen = seen_entries(m, kind);
  TokenBytes found;
  if (seen.window > 0) found.window = bytes(entry);
  if (seen.rate == 0) return found;
  const auto indexer = indexer_of(m, kind);
  const double index = indexer ? indexer->key_bytes(kv_number_bytes(format)) : 0.0;
  found.full = bytes((entry + index) / seen.rate);
  return found;
}

TokenBytes kv_stage_bytes(const Model& m, KvCacheFormat format, int pipeline_parallel_size) {
  TokenBytes sum;
  for (int i = m.num_layers - fullest_stage_layers(m, pipeline_parallel_size); i < m.num_layers;
       ++i) {
    const TokenBytes one = kv_layer_bytes(m, layer_kind(m, i), format);
    sum.full += one.full;
    sum.window += one.window;
  }
  return sum;
}

Bytes state_layer_bytes(const Model& m) {
  const auto mixer = recurrent_mixer(m);
  if (!mixer) return {};
  constexpr double k16Bits = 2.0;
  const double convolution = static_cast<double>(mixer->positions * mixer->channels);
  return bytes(static_cast<double>(mixer->state) * mixer->state_bytes + convolution * k16Bits);
}

Bytes kv_token_bytes(const Model& m, KvCacheFormat format) {
  const TokenBytes token = kv_stage_bytes(m, format, 1);
  return token.full + token.window;
}

double kv_replication(const Model& m, const ReplicaLayout& l) {
  const double tp = l.tensor_parallel_size;
  const double heads = m.mla ? 1.0 : m.num_query_groups;
  return std::max(1.0, tp / heads / l.decode_context_parallel_size);
}

double kv_rank_share(const Model& m, const ReplicaLayout& layout) {
  return kv_replication(m, layout) / layout.tensor_parallel_size;
}

Bytes kv_rank_layer_bytes(const Model& m, const ReplicaOptions& options) {
  return kv_layer_bytes(m, {}, options.kv_cache).full * kv_rank_share(m, options.layout);
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
  const TokenBytes token =
      kv_stage_bytes(m, options.kv_cache, options.layout.pipeline_parallel_size);
  const double share = kv_rank_share(m, options.layout);
  const Bytes states = state_layer_bytes(m) * (layers.linear / options.layout.tensor_parallel_size);
  return {token.full * share,
          token.window * share,
          token.window > bytes(0) ? static_cast<double>(m.sliding_window) : 0.0,
          block_size,
          states,
          {}};
}

}  // namespace meshwright
