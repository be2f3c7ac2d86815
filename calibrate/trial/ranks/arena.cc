// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "sim/base/error.h"

namespace meshwright::calibrate {

Arena::~Arena() {
  for (const auto& [begin, chunk] : chunks_) release(begin, chunk);
}

void Arena::release(std::byte* begin, const Chunk& chunk) {
  chunk.of_host ? compute_.release_host(begin) : compute_.release(begin);
}

void Arena::release_free_chunks() {
  for (BestFit* pool : {&small_, &large_}) {
    for (std::byte* begin : pool->drop_free_chunks()) {
      const auto chunk = chunks_.find(begin);
      if (!chunk->second.of_host) allocated_ -= chunk->second.size;
      release(begin, chunk->second);
      chunks_.erase(chunk);
    }
  }
}

std::byte* Arena::allocate_on_device(std::size_t size) {
  if (bytes(static_cast<double>(allocated_ + size)) > limit_) {
    throw OutOfMemory(
        fmt::format("{:.3f} GiB more than the {:.3f} GiB that were set as the limit",
                    in_gibibytes(bytes(static_cast<double>(allocated_ + size)) - limit_),
                    in_gibibytes(limit_)));
  }
  auto* begin = static_cast<std::byte*>(compute_.allocate(size));
  allocated_ += size;
  return begin;
}

// Free chunks of other sizes go back to the device before it counts as full.
std::byte* Arena::allocate(std::size_t size) {
  try {
    return allocate_on_device(size);
  } catch (const OutOfMemory&) {
    release_free_chunks();
  }
  try {
    return allocate_on_device(size);
  } catch (const OutOfMemory& full) {
    if (out_of_memory_.empty()) {
      out_of_memory_ =
          fmt::format("{:.3f} GiB in use, {:.3f} GiB asked for: {}", in_gibibytes(used()),
                      in_gibibytes(bytes(static_cast<double>(size))), full.what());
    }
  }
  return nullptr;
}

void* Arena::take(std::size_t size) {
  const std::size_t whole = BestFit::rounded(size);
  BestFit& pool = pool_of(whole);
  std::byte* block = pool.take(whole);
  if (block == nullptr) {
    std::byte* begin = allocate(whole);
    const bool of_host = begin == nullptr;
    if (of_host) begin = static_cast<std::byte*>(compute_.allocate_host(whole));
    if (begin == nullptr) throw OutOfMemory("the memory of device and host is full");
    chunks_[begin] = {whole, of_host};
    spoil(begin, whole);
    pool.add_chunk(begin, whole);
    block = pool.take(whole);
  }
  blocks_[block] = {.size = size, .holds = 0, .given = false};
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

Arena::Blocks::iterator Arena::block_around(const void* inside) {
  const auto* address = static_cast<const std::byte*>(inside);
  const auto after = blocks_.upper_bound(address);
  invariant(after != blocks_.begin(), "an address in a block of the arena");
  const auto found = std::prev(after);
  invariant(address < found->first + BestFit::rounded(found->second.size),
            "an address in a block of the arena");
  return found;
}

void Arena::hold(const void* inside) { ++block_around(inside)->second.holds; }

void Arena::let_go(const void* inside) {
  const auto found = block_around(inside);
  Block& block = found->second;
  invariant(block.holds > 0, "a block that is let go is held");
  if (--block.holds > 0 || !block.given) return;
  block.given = false;
  give(found->first, block.size);
}

void Arena::give(void* block, std::size_t size) {
  const auto known = blocks_.find(static_cast<std::byte*>(block));
  invariant(known != blocks_.end() && known->second.size == size, "a block of the arena's");
  if (known->second.holds > 0) {
    known->second.given = true;
    return;
  }
  blocks_.erase(known);
  used_ -= size;
  spoil(block, size);
  pool_of(BestFit::rounded(size)).give(static_cast<std::byte*>(block));
}

Tensor::Tensor(Arena& arena, std::int64_t count, Precision format)
    : arena_(&arena), block_(arena.take(size_of(count, format))), count_(count), format_(format) {}

float* Tensor::data() const {
  invariant(format_ == Precision::fp32, "numbers of 16 bits are not read as fp32");
  return static_cast<float*>(block_);
}

Tensor::Tensor(Tensor&& other) noexcept
    : arena_(std::exchange(other.arena_, nullptr)),
      block_(std::exchange(other.block_, nullptr)),
      count_(std::exchange(other.count_, 0)),
      format_(other.format_) {}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(block_, other.block_);
  std::swap(count_, other.count_);
  std::swap(format_, other.format_);
  return *this;
}

void Tensor::release() {
  if (block_ != nullptr) arena_->give(block_, size());
  block_ = nullptr;
  count_ = 0;
}

}  // namespace meshwright::calibrate
