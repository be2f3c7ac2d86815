// SPDX-License-Identifier: Apache-2.0
// Device memory of one trial. Freed blocks are kept and handed out again, so that a step after the
// first allocates nothing. Its peak is the most that was in use at once: what an allocator without
// fragmentation needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "calibrate/backends/compute.h"
#include "sim/base/units.h"

namespace meshwright::calibrate {

class Arena {
 public:
  // `poison`: blocks are full of NaN when they are handed out, and from when they are given back.
  explicit Arena(Compute& compute, bool poison = false) : compute_(compute), poison_(poison) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  void* take(std::size_t size);
  void give(void* block, std::size_t size);
  // Keeps the block that this address lies in from being handed out again, given back or not, until
  // it has been let go as often.
  void hold(const void* inside);
  void let_go(const void* inside);
  [[nodiscard]] Bytes used() const { return bytes(static_cast<double>(used_)); }
  [[nodiscard]] Bytes peak() const { return bytes(static_cast<double>(peak_)); }

 private:
  struct Block {
    void* begin = nullptr;
    std::size_t size = 0;
    int holds = 0;
    bool given = false;  // back, while it was held
  };
  void* find_or_allocate(std::size_t size);
  void spoil(void* block, std::size_t size);
  [[nodiscard]] Block& block_around(const void* inside);

  Compute& compute_;
  bool poison_;
  std::multimap<std::size_t, void*> free_;
  std::map<const void*, Block> blocks_;  // by where they begin
  std::size_t used_ = 0, peak_ = 0;
};

// `count` fp32 (or int32) numbers on the device, given back to the arena at the end of its life.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Arena& arena, std::int64_t count);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() { release(); }

  [[nodiscard]] float* data() const { return static_cast<float*>(block_); }
  [[nodiscard]] std::int32_t* integers() const { return static_cast<std::int32_t*>(block_); }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(count_) * 4; }
  [[nodiscard]] bool empty() const { return block_ == nullptr; }
  void release();

 private:
  Arena* arena_ = nullptr;
  void* block_ = nullptr;
  std::int64_t count_ = 0;
};

}  // namespace meshwright::calibrate
