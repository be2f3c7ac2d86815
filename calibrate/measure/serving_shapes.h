// SPDX-License-Identifier: Apache-2.0
// What a step of the trial's inference engine consists of besides products, kernels and messages.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/units.h"

namespace meshwright::calibrate {

// One layer's attention of a tensor rank over a paged cache: `sequences`, each with `rows` new
// tokens behind `cached` ones. Decodes have one row, prompts a chunk.
struct PagedAttentionShape {
  std::int64_t sequences = 1, rows = 1, cached = 0;
  std::int64_t heads = 1, query_groups = 1, head_dim = 128;  // of the rank
  // Latent attention: numbers of a latent, of a rotary key and of a head's value; head_dim is that
  // of a key which the up projection makes. 0: keys and values of groups.
  std::int64_t latent_rank = 0, rotary_dim = 0, value_dim = 0;
  [[nodiscard]] bool is_latent() const { return latent_rank > 0; }
  // Numbers that are cached of a token.
  [[nodiscard]] std::int64_t cached_numbers() const {
    return is_latent() ? latent_rank + rotary_dim : 2 * query_groups * head_dim;
  }
  bool operator==(const PagedAttentionShape&) const = default;
};
// What all sequences have in the cache, numbers of so many bytes.
inline Bytes paged_attention_bytes(const PagedAttentionShape& s, double number_bytes) {
  const auto keys = static_cast<double>(s.sequences * (s.cached + s.rows));
  return bytes(keys * static_cast<double>(s.cached_numbers()) * number_bytes);
}

// A prompt's cache on its way from a rank of one replica to a rank of another: taken out of its
// blocks, sent, put into blocks. Keys and values of `groups` in each layer.
struct CacheCopyShape {
  std::int64_t tokens = 1, layers = 1, groups = 1;
  std::int64_t key_width = 128, value_width = 128;  // latent: of latents and of rotary keys
  bool operator==(const CacheCopyShape&) const = default;
};
inline Bytes cache_copy_bytes(const CacheCopyShape& s, double number_bytes) {
  return bytes(static_cast<double>(s.tokens * s.layers * s.groups * (s.key_width + s.value_width)) *
               number_bytes);
}

// A step of the engine around a model without layers: `sequences` decode, each with `vocab` logits.
struct EngineStepShape {
  std::int64_t sequences = 1, vocab = 1024;
  bool operator==(const EngineStepShape&) const = default;
};

// A whole step of the trial's engine, with stages of one stream: `sequences` prompts of `tokens`
// each, or so many sequences that decode, each with `tokens` in the cache.
struct ServedStepShape {
  bool prompts = false;
  std::string model{};
  int layers = 1;  // of the model that were run
  int tensor_parallel_size = 1, pipeline_parallel_size = 1;
  std::int64_t sequences = 1, tokens = 1;
  Seconds parts{};  // their sum as this profile's other points predict it; 0: not yet predicted
  bool operator==(const ServedStepShape&) const = default;
};

}  // namespace meshwright::calibrate
