// SPDX-License-Identifier: Apache-2.0
// What all layers of one rank keep of the positions that they have seen, in blocks: keys and
// values, (layer, block, group of the rank, position, width) each. Latent attention keeps latents
// in place of keys and rotary keys in place of values, both of one group. groups * (key width +
// value width) numbers a position and layer.
#pragma once

#include <cstdint>
#include <deque>

#include "calibrate/trial/ranks/context.h"
#include "calibrate/trial/serving/block_pool.h"

namespace meshwright::calibrate {

// Rows of a pass that belong to one sequence: `rows` new tokens behind `cached` ones.
struct SequenceRows {
  std::int64_t first_row = 0, rows = 1, cached = 0;
  const BlockTable* blocks = nullptr;  // with room for all of them
  [[nodiscard]] std::int64_t seen() const { return cached + rows; }
};

struct PageShape {
  std::int64_t groups = 1, key_width = 0, value_width = 0, block_size = 16;
};

class PagedCache {
 public:
  // Holds its memory from the beginning. All of it is 0.
  PagedCache(const TrialContext& context, std::int64_t layers, std::int64_t blocks,
             const PageShape& shape);

  // Puts the rows of a sequence behind what is cached. Keys and values: of all rows of the pass,
  // group by group, whose first numbers are `from_stride` apart.
  void store(std::size_t layer, const SequenceRows& sequence, const float* keys,
             const float* values, std::int64_t from_stride) const;
  // (groups, positions, width) of the sequence's positions, without gaps; positions behind those
  // that it has seen are some other's, or 0.
  [[nodiscard]] Tensor keys(std::size_t layer, const SequenceRows& sequence,
                            std::int64_t positions) const;
  [[nodiscard]] Tensor values(std::size_t layer, const SequenceRows& sequence,
                              std::int64_t positions) const;
  // Some groups of the first positions of a sequence, of all layers: of each its keys, then its
  // values, (groups, positions, width) without gaps.
  [[nodiscard]] Tensor copied(const BlockTable& blocks, std::int64_t positions,
                              std::int64_t first_group, std::int64_t groups) const;
  // Puts such a copy into groups of a sequence here.
  void fill(const BlockTable& blocks, std::int64_t positions, std::int64_t first_group,
            std::int64_t groups, const float* copy) const;
  // Numbers of such a copy.
  [[nodiscard]] std::int64_t copy_count(std::int64_t positions, std::int64_t groups) const {
    return static_cast<std::int64_t>(keys_.size()) * groups * positions *
           (shape_.key_width + shape_.value_width);
  }
  [[nodiscard]] Bytes size() const;

 private:
  void put(const Tensor& pages, std::int64_t width, const SequenceRows& sequence, const float* from,
           std::int64_t from_stride) const;
  [[nodiscard]] Tensor take(const Tensor& pages, std::int64_t width, const SequenceRows& sequence,
                            std::int64_t positions) const;
  // Calls move(page, place, rows, width) for the stretch of each block in each layer, keys and
  // values: `page` is of the first of the groups in the cache, `place` that of its rows in the
  // copy.
  template <typename Move>
  void each_stretch(const BlockTable& blocks, std::int64_t positions, std::int64_t first_group,
                    std::int64_t groups, const Move& move) const;
  [[nodiscard]] std::int64_t of_block(std::int64_t width) const {
    return shape_.groups * shape_.block_size * width;
  }

  const TrialContext& context_;
  PageShape shape_;
  std::deque<Tensor> keys_, values_;  // of a layer each
};

}  // namespace meshwright::calibrate
