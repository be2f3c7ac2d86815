// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/arena.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "sim/base/error.h"

namespace meshwright::calibrate {

Arena::~Arena() {
  for (const auto& [begin, block] : blocks_) compute_.release(block.begin);
}

void* Arena::find_or_allocate(std::size_t size) {
  const auto found = free_.find(size);
  if (found != free_.end()) {
    void* block = found->second;
    free_.erase(found);
    return block;
  }
  void* block = compute_.allocate(size);
  blocks_[block] = {.begin = block, .size = size, .holds = 0, .given = false};
  spoil(block, size);
  return block;
}

void* Arena::take(std::size_t size) {
  void* block = find_or_allocate(size);
  used_ += size;
  peak_ = std::max(peak_, used_);
  return block;
}

void Arena::spoil(void* block, std::size_t size) {
  if (!poison_) return;
  const std::vector<float> poison(size / sizeof(float), std::numeric_limits<float>::quiet_NaN());
  compute_.upload(block, poison.data(), size);
  compute_.synchronize();
}

Arena::Block& Arena::block_around(const void* inside) {
  const auto after = blocks_.upper_bound(inside);
  invariant(after != blocks_.begin(), "an address in a block of the arena");
  return std::prev(after)->second;
}

void Arena::hold(const void* inside) { ++block_around(inside).holds; }

void Arena::let_go(const void* inside) {
  Block& block = block_around(inside);
  invariant(block.holds > 0, "a block that is let go is held");
  if (--block.holds > 0 || !block.given) return;
  block.given = false;
  give(block.begin, block.size);
}

void Arena::give(void* block, std::size_t size) {
  Block& known = blocks_.at(block);
  if (known.holds > 0) {
    known.given = true;
    return;
  }
  used_ -= size;
  spoil(block, size);
  free_.emplace(size, block);
}

Tensor::Tensor(Arena& arena, std::int64_t count)
    : arena_(&arena), block_(arena.take(static_cast<std::size_t>(count) * 4)), count_(count) {}

Tensor::Tensor(Tensor&& other) noexcept
    : arena_(std::exchange(other.arena_, nullptr)),
      block_(std::exchange(other.block_, nullptr)),
      count_(std::exchange(other.count_, 0)) {}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(block_, other.block_);
  std::swap(count_, other.count_);
  return *this;
}

void Tensor::release() {
  if (block_ != nullptr) arena_->give(block_, size());
  block_ = nullptr;
  count_ = 0;
}

}  // namespace meshwright::calibrate
