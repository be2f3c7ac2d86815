// SPDX-License-Identifier: Apache-2.0
// Indexer: chooses the entries of the context that a query attends to (DeepSeek-V3.2, arXiv
// 2512.02556, 2.1). It has products of a query and of one key, a score a head, and takes the best
// entries. Its products run forward alone: the choice has no gradient.
#pragma once

#include <optional>
#include <string_view>

#include "sim/block/part.h"

namespace meshwright {

// Attention whose layers have an indexer, in words; empty: the model has none.
std::string_view indexed_attention(const Model& model);

// Entries of the context that a layer's query sees beside its window, one for `rate` tokens.
struct SeenEntries {
  double window = 0;  // newest positions, each by itself; 0: none
  double rate = 1;    // 0: no entries
  double most = 0;    // entries that an indexer keeps; 0: all
};
SeenEntries seen_entries(const Model& model, LayerKind kind);

struct Indexer {
  std::int64_t heads = 0, width = 0;
  bool fp8_keys = false;  // engines keep its keys in fp8 with an fp32 scale
  // FLOPs of one query and one entry.
  [[nodiscard]] double pair_flops() const {
    return 2.0 * static_cast<double>(heads) * static_cast<double>(width + 1);
  }
  // Bytes of an entry's key in a cache of numbers of `number` bytes.
  [[nodiscard]] double key_bytes(double number) const {
    const auto numbers = static_cast<double>(width);
    return fp8_keys ? numbers + 4.0 : numbers * number;
  }
};
// Empty: the layer has no indexer of its own.
std::optional<Indexer> indexer_of(const Model& model, LayerKind kind);
// Appends the indexer's products.
void append_indexer(LayerParts& parts, const Model& model, LayerKind kind);

}  // namespace meshwright
