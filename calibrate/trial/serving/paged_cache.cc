// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/paged_cache.h"

#include <algorithm>

namespace meshwright::calibrate {

PagedCache::PagedCache(const TrialContext& context, std::int64_t layers, std::int64_t blocks,
                       const PageShape& shape)
    : context_(context), shape_(shape) {
  const auto add = [&](std::deque<Tensor>& side, std::int64_t width) {
    side.push_back(context.tensor(blocks * of_block(width)));
    context.compute.fill_zero(side.back().data(), side.back().size());
  };
  for (std::int64_t i = 0; i < layers; ++i) {
    add(keys_, shape.key_width);
    add(values_, shape.value_width);
  }
}

Bytes PagedCache::size() const {
  Bytes sum;
  for (const std::deque<Tensor>* side : {&keys_, &values_}) {
    for (const Tensor& pages : *side) sum += bytes(static_cast<double>(pages.size()));
  }
  return sum;
}

void PagedCache::put(const Tensor& pages, std::int64_t width, const SequenceRows& sequence,
                     const float* from, std::int64_t from_stride) const {
  const std::int64_t size = shape_.block_size;
  from += sequence.first_row * width;
  std::int64_t position = sequence.cached;
  while (position < sequence.seen()) {
    const std::int64_t place = position % size;
    const std::int64_t rows = std::min(size - place, sequence.seen() - position);
    const std::int64_t block = (*sequence.blocks)[static_cast<std::size_t>(position / size)];
    context_.compute.copy_rows(pages.data() + block * of_block(width) + place * width, size * width,
                               from, from_stride, shape_.groups, rows * width);
    from += rows * width;
    position += rows;
  }
}

void PagedCache::store(std::size_t layer, const SequenceRows& sequence, const float* keys,
                       const float* values, std::int64_t from_stride) const {
  put(keys_[layer], shape_.key_width, sequence, keys, from_stride);
  put(values_[layer], shape_.value_width, sequence, values, from_stride);
}

Tensor PagedCache::take(const Tensor& pages, std::int64_t width, const SequenceRows& sequence,
                        std::int64_t positions) const {
  const std::int64_t size = shape_.block_size;
  Tensor found = context_.tensor(shape_.groups * positions * width);
  for (std::int64_t first = 0; first < positions; first += size) {
    // A position that the sequence has not seen is multiplied by 0: any number will do.
    const auto at = static_cast<std::size_t>(first / size);
    const std::int64_t block = (*sequence.blocks)[at < sequence.blocks->size() ? at : 0];
    const std::int64_t rows = std::min(size, positions - first);
    context_.compute.copy_rows(found.data() + first * width, positions * width,
                               pages.data() + block * of_block(width), size * width, shape_.groups,
                               rows * width);
  }
  return found;
}

template <typename Move>
void PagedCache::each_stretch(const BlockTable& blocks, std::int64_t positions,
                              std::int64_t first_group, std::int64_t groups,
                              const Move& move) const {
  const std::int64_t size = shape_.block_size;
  std::int64_t begin = 0;
  const auto side = [&](const Tensor& pages, std::int64_t width) {
    for (std::int64_t first = 0; first < positions; first += size) {
      const std::int64_t block = blocks[static_cast<std::size_t>(first / size)];
      float* page = pages.data() + block * of_block(width) + first_group * size * width;
      move(page, begin + first * width, std::min(size, positions - first), width);
    }
    begin += groups * positions * width;
  };
  for (std::size_t layer = 0; layer < keys_.size(); ++layer) {
    side(keys_[layer], shape_.key_width);
    side(values_[layer], shape_.value_width);
  }
}

Tensor PagedCache::copied(const BlockTable& blocks, std::int64_t positions,
                          std::int64_t first_group, std::int64_t groups) const {
  Tensor copy = context_.tensor(copy_count(positions, groups));
  each_stretch(blocks, positions, first_group, groups,
               [&](const float* page, std::int64_t place, std::int64_t rows, std::int64_t width) {
                 context_.compute.copy_rows(copy.data() + place, positions * width, page,
                                            shape_.block_size * width, groups, rows * width);
               });
  return copy;
}

void PagedCache::fill(const BlockTable& blocks, std::int64_t positions, std::int64_t first_group,
                      std::int64_t groups, const float* copy) const {
  each_stretch(blocks, positions, first_group, groups,
               [&](float* page, std::int64_t place, std::int64_t rows, std::int64_t width) {
                 context_.compute.copy_rows(page, shape_.block_size * width, copy + place,
                                            positions * width, groups, rows * width);
               });
}

Tensor PagedCache::keys(std::size_t layer, const SequenceRows& sequence,
                        std::int64_t positions) const {
  return take(keys_[layer], shape_.key_width, sequence, positions);
}

Tensor PagedCache::values(std::size_t layer, const SequenceRows& sequence,
                          std::int64_t positions) const {
  return take(values_[layer], shape_.value_width, sequence, positions);
}

}  // namespace meshwright::calibrate
