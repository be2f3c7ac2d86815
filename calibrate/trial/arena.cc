// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/arena.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace meshwright::calibrate {

Arena::~Arena() {
  for (void* block : blocks_) compute_.release(block);
}

void* Arena::find_or_allocate(std::size_t size) {
  const auto found = free_.find(size);
  if (found != free_.end()) {
    void* block = found->second;
    free_.erase(found);
    return block;
  }
  void* block = compute_.allocate(size);
  blocks_.push_back(block);
  return block;
}

void* Arena::take(std::size_t size) {
  void* block = find_or_allocate(size);
  used_ += size;
  peak_ = std::max(peak_, used_);
  if (!poison_) return block;
  const std::vector<float> poison(size / sizeof(float), std::numeric_limits<float>::quiet_NaN());
  compute_.upload(block, poison.data(), size);
  compute_.synchronize();
  return block;
}

void Arena::give(void* block, std::size_t size) {
  used_ -= size;
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
