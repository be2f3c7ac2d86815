// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/best_fit.h"

#include <iterator>

#include "sim/base/error.h"

namespace meshwright::calibrate {

void BestFit::set_free(Pieces::iterator piece) {
  piece->second.is_free = true;
  free_.emplace(piece->second.size, piece->first);
}

void BestFit::take_from_free(Pieces::iterator piece) {
  piece->second.is_free = false;
  free_.erase({piece->second.size, piece->first});
}

void BestFit::add_chunk(std::byte* begin, std::size_t size) {
  const auto [piece, is_new] = pieces_.emplace(begin, Piece{size, false, true});
  invariant(is_new && size % kAlignment == 0, "a chunk is new and of whole blocks");
  set_free(piece);
}

std::byte* BestFit::take(std::size_t size) {
  const std::size_t wanted = rounded(size);
  const auto fits = free_.lower_bound({wanted, nullptr});
  if (fits == free_.end()) return nullptr;
  const auto piece = pieces_.find(fits->second);
  take_from_free(piece);
  const std::size_t rest = piece->second.size - wanted;
  if (rest > 0) {
    piece->second.size = wanted;
    set_free(pieces_.emplace(piece->first + wanted, Piece{rest, false, false}).first);
  }
  return piece->first;
}

void BestFit::join_with_next(Pieces::iterator piece) {
  const auto next = std::next(piece);
  if (next == pieces_.end() || !next->second.is_free || next->second.begins_chunk) return;
  take_from_free(piece);
  take_from_free(next);
  piece->second.size += next->second.size;
  pieces_.erase(next);
  set_free(piece);
}

void BestFit::give(std::byte* begin) {
  const auto piece = pieces_.find(begin);
  invariant(piece != pieces_.end() && !piece->second.is_free, "a block is taken and given once");
  set_free(piece);
  join_with_next(piece);
  if (piece->second.begins_chunk) return;
  const auto before = std::prev(piece);
  if (before->second.is_free) join_with_next(before);
}

// A chunk that is free from its begin to its end is one piece.
std::vector<std::byte*> BestFit::drop_free_chunks() {
  std::vector<std::byte*> dropped;
  for (auto piece = pieces_.begin(); piece != pieces_.end();) {
    const auto next = std::next(piece);
    const bool whole = next == pieces_.end() || next->second.begins_chunk;
    if (piece->second.begins_chunk && piece->second.is_free && whole) {
      dropped.push_back(piece->first);
      take_from_free(piece);
      pieces_.erase(piece);
    }
    piece = next;
  }
  return dropped;
}

}  // namespace meshwright::calibrate
