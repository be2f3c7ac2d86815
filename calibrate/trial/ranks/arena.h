// SPDX-License-Identifier: Apache-2.0
// Device memory of one trial. Blocks that are given back are handed out again, best fit first, so
// that a step after the first allocates nothing. Its peak is the most that was in use at once: what
// an allocator without fragmentation needs.
//
// A full device does not end a rank: others would wait for it for ever. The rank goes on with
// memory of the host that the device can reach, and out_of_memory() says so. The ranks agree on it
// where all of them come together (out_of_memory.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "calibrate/backends/compute.h"
#include "calibrate/backends/numbers.h"
#include "calibrate/trial/ranks/best_fit.h"
#include "sim/base/units.h"

namespace meshwright::calibrate {

class Arena {
 public:
  // `poison`: blocks are full of NaN when they are handed out, and from when they are given back.
  // `limit`: bytes that it allocates of the device at most.
  explicit Arena(Compute& compute, bool poison = false, Bytes limit = no_limit())
      : compute_(compute), poison_(poison), limit_(limit) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  static constexpr Bytes no_limit() { return Bytes{std::numeric_limits<double>::infinity()}; }

  // Throws OutOfMemory only where the host's memory is full, too.
  void* take(std::size_t size);
  void give(void* block, std::size_t size);
  // Keeps the block that this address lies in from being handed out again, given back or not, until
  // it has been let go as often.
  void hold(const void* inside);
  void let_go(const void* inside);
  [[nodiscard]] Bytes used() const { return bytes(static_cast<double>(used_)); }
  [[nodiscard]] Bytes peak() const { return bytes(static_cast<double>(peak_)); }
  // What the device said when it was full for the first time; empty: it never was.
  [[nodiscard]] const std::string& out_of_memory() const { return out_of_memory_; }

 private:
  // A block that is handed out.
  struct Block {
    std::size_t size = 0;  // as asked for
    int holds = 0;
    bool given = false;  // back, while it was held
  };
  struct Chunk {
    std::size_t size = 0;
    bool of_host = false;
  };
  // Small blocks lie in chunks of their own, or one of them would keep a large piece from being
  // whole again.
  [[nodiscard]] BestFit& pool_of(std::size_t size) { return size <= kSmall ? small_ : large_; }
  [[nodiscard]] std::byte* allocate(std::size_t size);
  [[nodiscard]] std::byte* allocate_on_device(std::size_t size);
  void release_free_chunks();
  void release(std::byte* begin, const Chunk& chunk);
  void spoil(void* block, std::size_t size);
  using Blocks = std::map<std::byte*, Block, std::less<>>;
  [[nodiscard]] Blocks::iterator block_around(const void* inside);

  static constexpr std::size_t kSmall = std::size_t{1} << 20U;

  Compute& compute_;
  bool poison_;
  Bytes limit_;
  BestFit small_, large_;
  std::map<std::byte*, Chunk> chunks_;
  Blocks blocks_;  // handed out, by where they begin
  std::size_t allocated_ = 0, used_ = 0, peak_ = 0;
  std::string out_of_memory_;
};

// `count` numbers on the device, given back to the arena at the end of its life: fp32 or int32, or
// of 16 bits where that is said.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Arena& arena, std::int64_t count, Precision format = Precision::fp32);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() { release(); }

  // Of 32-bit numbers only.
  [[nodiscard]] float* data() const;
  [[nodiscard]] std::int32_t* integers() const { return static_cast<std::int32_t*>(block_); }
  [[nodiscard]] Numbers numbers() const { return {block_, format_}; }
  [[nodiscard]] Precision format() const { return format_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  // Bytes, in whole words of 4: two numbers of 16 bits are one.
  [[nodiscard]] std::size_t size() const { return size_of(count_, format_); }
  [[nodiscard]] bool empty() const { return block_ == nullptr; }
  void release();

 private:
  [[nodiscard]] static std::size_t size_of(std::int64_t count, Precision format) {
    const std::size_t size = static_cast<std::size_t>(count) * size_of_number(format);
    return (size + 3) / 4 * 4;
  }

  Arena* arena_ = nullptr;
  void* block_ = nullptr;
  std::int64_t count_ = 0;
  Precision format_ = Precision::fp32;
};

}  // namespace meshwright::calibrate
