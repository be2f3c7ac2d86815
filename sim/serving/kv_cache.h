// SPDX-License-Identifier: Apache-2.0
// Bytes of the key-value cache: how many a token takes, and how many a sequence takes in blocks.
//
//   MHA, GQA  2 * n_kv * d * c a layer, divided by min(tp, n_kv): beyond n_kv heads are repeated
//   MLA       (r + rope) * c a layer, whole on each tensor rank; fp8_ds_mla 656 B
//   window    a layer with a window keeps W tokens and one block
//   indexer   128 + 4 B more (DeepSeek-V3.2, fp8 with an fp32 scale) in layers that have one
//   compressed (DeepSeek-V4)  d * c in the window, d * c for each entry of so many tokens, and
//             128 * c more of an entry where an indexer chooses
//   recurrent a state (sim/block/recurrent.h) and k positions of its convolution in 16 bits, a
//             sequence and layer, divided by tp; nothing a token
// Decode context parallelism spreads the tokens of a sequence over dcp of the tensor ranks.
// Sources: vLLM v1/kv_cache_interface.py; SGLang mem_cache/memory_pool.py.
#pragma once

#include "sim/model/model.h"
#include "sim/serving/replica.h"

namespace meshwright {

// Whether the cache of such a model is known: it attends, and each layer holds keys and values.
bool has_kv_layout(const Model& model);

// Layers of one stage that hold whole contexts, that hold a window, and that hold a state.
struct CachedLayers {
  double full = 0, window = 0, linear = 0;
};
CachedLayers cached_layers(const Model& model, int pipeline_parallel_size);

// Bytes of one token, all ranks together, nothing repeated: of whole contexts, of the window.
struct TokenBytes {
  Bytes full{}, window{};
};
TokenBytes kv_layer_bytes(const Model& model, LayerKind kind, KvCacheFormat format);
// All layers of the fullest stage.
TokenBytes kv_stage_bytes(const Model& model, KvCacheFormat format, int pipeline_parallel_size);
// Bytes of one sequence in one recurrent mixer, all ranks together.
Bytes state_layer_bytes(const Model& model);
// Bytes of one token in all layers of the model without repetition: the table of published models.
Bytes kv_token_bytes(const Model& model, KvCacheFormat format);
// Share of the cache's bytes that one rank of the replica holds.
double kv_rank_share(const Model& model, const ReplicaLayout& layout);
// Bytes of one token in one layer of whole attention on one rank of the replica.
Bytes kv_rank_layer_bytes(const Model& model, const ReplicaOptions& options);
// How often a tensor group holds the same number: tp / n_kv beyond the heads, MLA tp, over dcp.
double kv_replication(const Model& model, const ReplicaLayout& layout);

// Tokens after rounding up to whole blocks.
constexpr double in_blocks(double tokens, int block_size) {
  const auto blocks = static_cast<std::int64_t>((tokens + block_size - 1) / block_size);
  return static_cast<double>(blocks) * block_size;
}

// Block tables of a sequence in an engine whose layers form groups that share the cache's blocks
// (sim/serving/cache_groups.h).
struct CacheGroups {
  int full = 0, window = 0, linear = 0;  // groups of each kind of layer
  int layers = 0;                        // of a group; the last ones of some may be empty
  Bytes block{};                         // of one group
  double window_tokens = 0;              // that a request reserves in layers with a window
  int window_blocks = 0;                 // and blocks beside them
  int state_blocks = 0;                  // in layers with states
  [[nodiscard]] int count() const { return full + window + linear; }
  // Blocks that a request of so many tokens reserves, in all groups.
  [[nodiscard]] double blocks_of(double tokens, int block_size) const;
  bool operator==(const CacheGroups&) const = default;
};

// What sequences of one rank cost, for the search: bytes = state + full * blocks(tokens) + window *
// min(blocks(tokens), W + block).
struct SequenceCache {
  Bytes full_token{}, window_token{};  // of the rank's layers
  double window = 0;                   // tokens; 0: no layer has one
  int block_size = 16;
  Bytes state{};         // of the rank's recurrent mixers, once a sequence
  CacheGroups groups{};  // none: every block holds tokens of all layers
  [[nodiscard]] Bytes bytes_of(double tokens) const;
  void widen(double factor) {
    full_token *= factor;
    window_token *= factor;
  }
  // Bytes that decode attention reads for one sequence of that context.
  [[nodiscard]] double window_keys(double tokens) const {
    return window > 0 && window < tokens ? window : tokens;
  }
};
SequenceCache sequence_cache(const Model& model, const ReplicaOptions& options, int block_size);

}  // namespace meshwright
