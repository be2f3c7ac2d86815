// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/kv_transfer.h"

#include <algorithm>
#include <cmath>

#include "sim/serving/operator_time.h"

namespace meshwright {
namespace {

// A window of compressed attention is sent alone; engines send whole sequences of other windows.
Bytes kept_bytes(const Model& model, const TokenBytes& token, double tokens) {
  const double window =
      model.compressed_attention ? std::min<double>(tokens, model.sliding_window) : tokens;
  return token.full * tokens + token.window * window;
}

}  // namespace

Bytes kv_rank_bytes(const Model& model, const ReplicaOptions& options, double tokens) {
  const int stages = options.layout.pipeline_parallel_size;
  const CachedLayers layers = cached_layers(model, stages);
  const Bytes kept = kept_bytes(model, kv_stage_bytes(model, options.kv_cache, stages), tokens);
  return kept * kv_rank_share(model, options.layout) +
         state_layer_bytes(model) * (layers.linear / options.layout.tensor_parallel_size);
}

KvTransfer kv_transfer(const Model& model, const Engine& engine, const ReplicaOptions& prefill,
                       const ReplicaOptions& decode, const Link& link, double tokens,
                       double decode_groups) {
  KvTransfer found;
  found.all = kept_bytes(model, kv_stage_bytes(model, decode.kv_cache, 1), tokens) +
              state_layer_bytes(model) * cached_layers(model, 1).linear;
  // A latent cache is whole on every tensor rank: each of the prefill ranks sends a part of it.
  const Bytes received = kv_rank_bytes(model, decode, tokens);
  const Bytes sent = found.all / static_cast<double>(num_gpus(prefill.layout));
  found.rank = std::max(received, sent);
  // A prefill step takes its blocks from one piece of the cache.
  const int side_by_side = engine.transfer.joins_blocks
                               ? std::max(decode.block_size, prefill.max_num_batched_tokens)
                               : decode.block_size;
  const double pieces = std::ceil(tokens / std::max(1, side_by_side));
  found.descriptors = pieces * model.num_layers * (model.mla ? 1.0 : 2.0);
  found.handover = engine.transfer.handover;
  found.moving =
      std::max(found.rank / link.bandwidth, engine.transfer.descriptor * found.descriptors);
  if (engine.transfer.rate.value() > 0.0) {
    found.moving = std::max(found.moving, found.all * decode_groups / engine.transfer.rate);
  }
  found.time = found.handover + found.moving;
  return found;
}

KvTransfer pools_transfer(const Model& model, const ServingCluster& cluster, const Engine& engine,
                          const ReplicaOptions& prefill, const ReplicaOptions& decode, int gpus,
                          double tokens, double decode_groups) {
  KvTransfer found =
      kv_transfer(model, engine, prefill, decode, pool_link(cluster, gpus), tokens, decode_groups);
  const auto& copy = cluster.inference.cache_copy;
  if (!copy) return found;
  if (decode.kv_cache == KvCacheFormat::bf16) {
    const double width = served_bytes(only_device(cluster)) / 2.0;
    found.all *= width;
    found.rank *= width;
  }
  found.descriptors = 0;
  found.handover = copy->latency;
  found.moving = found.rank / copy->rate;
  found.time = found.handover + found.moving;
  return found;
}

const Link& pool_link(const Cluster& cluster, int gpus) {
  return gpus <= cluster.gpus_per_node ? cluster.intra_node : cluster.inter_node;
}

}  // namespace meshwright
