// SPDX-License-Identifier: Apache-2.0
// Best-fit division of memory into blocks: addresses only, the memory is not touched.
//
// A request takes the smallest free piece that holds it, and leaves the rest of the piece free. A
// block that is given back joins the free pieces beside it (Knuth, TAOCP 1, section 2.5).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace meshwright::calibrate {

class BestFit {
 public:
  // Blocks begin at multiples of this many bytes of their chunk. It is what cudaMalloc aligns to.
  static constexpr std::size_t kAlignment = 256;
  // Bytes that a request really takes: a multiple of kAlignment, and never none.
  [[nodiscard]] static constexpr std::size_t rounded(std::size_t size) {
    return size == 0 ? kAlignment : (size + kAlignment - 1) / kAlignment * kAlignment;
  }

  // Adds a chunk of free memory; `size` is rounded.
  void add_chunk(std::byte* begin, std::size_t size);
  // A block of at least `size` bytes; null where no free piece is as large.
  [[nodiscard]] std::byte* take(std::size_t size);
  // Gives back a block that take() returned.
  void give(std::byte* begin);
  // Forgets the chunks of which no block is taken, and returns where they began.
  [[nodiscard]] std::vector<std::byte*> drop_free_chunks();

 private:
  struct Piece {
    std::size_t size = 0;
    bool is_free = false;
    bool begins_chunk = false;
  };
  using Pieces = std::map<std::byte*, Piece>;

  void set_free(Pieces::iterator piece);
  void take_from_free(Pieces::iterator piece);
  // Joins a free piece with the next one, where that is free and of the same chunk.
  void join_with_next(Pieces::iterator piece);

  Pieces pieces_;                                      // by address, without gaps inside a chunk
  std::set<std::pair<std::size_t, std::byte*>> free_;  // by size
};

}  // namespace meshwright::calibrate
