// SPDX-License-Identifier: Apache-2.0
// Which prefill rank sends which groups of a prompt's cache to which decode rank.
//
// A replica of n tensor ranks has the model's G groups of keys and values in order: rank r those
// from r G / n on, or, where G < n, one group that n / G ranks repeat. A latent cache is one group.
// A decode rank gets each of its groups from one rank that has it; where several have it, decode
// ranks take them in turn.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/model/model.h"

namespace meshwright::calibrate {

struct CachePiece {
  int from = 0, to = 0;  // tensor ranks of the prefill and of the decode replica
  std::int64_t first_sent = 0, first_received = 0;  // groups among those of the rank
  std::int64_t groups = 1;
  bool operator==(const CachePiece&) const = default;
};

// Groups that a model caches: its query groups, or one latent.
std::int64_t cached_groups(const Model& model);
// By decode rank, then by group.
std::vector<CachePiece> cache_pieces(std::int64_t groups, int prefill_ranks, int decode_ranks);

}  // namespace meshwright::calibrate
