// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/cache_pieces.h"

#include <algorithm>

namespace meshwright::calibrate {
namespace {

// Groups of one rank, and ranks that have the same ones.
struct Share {
  std::int64_t groups, copies;
  Share(std::int64_t all, int ranks)
      : groups(std::max<std::int64_t>(1, all / ranks)),
        copies(std::max<std::int64_t>(1, ranks / all)) {}
  [[nodiscard]] std::int64_t first_of(std::int64_t rank) const { return rank / copies * groups; }
};

}  // namespace

std::int64_t cached_groups(const Model& model) { return model.mla ? 1 : model.num_query_groups; }

std::vector<CachePiece> cache_pieces(std::int64_t groups, int prefill_ranks, int decode_ranks) {
  const Share sent(groups, prefill_ranks), received(groups, decode_ranks);
  std::vector<CachePiece> pieces;
  for (int to = 0; to < decode_ranks; ++to) {
    const std::int64_t first = received.first_of(to);
    for (std::int64_t group = first; group < first + received.groups; ++group) {
      const auto from = static_cast<int>(group / sent.groups * sent.copies + to % sent.copies);
      if (group > first && pieces.back().from == from) {
        ++pieces.back().groups;
      } else {
        pieces.push_back({from, to, group - sent.first_of(from), group - first, 1});
      }
    }
  }
  return pieces;
}

}  // namespace meshwright::calibrate
