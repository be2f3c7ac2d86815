// SPDX-License-Identifier: Apache-2.0
// Arrays of 16 bits for kernels that compute in fp32: read from a wide copy, and rounded when it is
// complete. Arrays of fp32 are used where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "calibrate/backends/compute.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cpu {

class WideSource {
 public:
  WideSource(Compute& compute, ConstNumbers numbers, std::int64_t count)
      : data_(static_cast<const float*>(numbers.data)) {
    if (numbers.format == Precision::fp32) return;
    copy_.resize(static_cast<std::size_t>(count));
    compute.widen(copy_.data(), numbers.data, numbers.format, count);
    data_ = copy_.data();
  }
  WideSource(const WideSource&) = delete;
  WideSource& operator=(const WideSource&) = delete;

  [[nodiscard]] const float* data() const { return data_; }

 private:
  std::vector<float> copy_;
  const float* data_;
};

// Rounds at the end of its life. It holds what the array held before where `changes` says so.
class WideResult {
 public:
  WideResult(Compute& compute, Numbers numbers, std::int64_t count, bool changes = false)
      : compute_(compute), numbers_(numbers), data_(static_cast<float*>(numbers.data)) {
    if (numbers.format == Precision::fp32) return;
    invariant(numbers.format == Precision::bf16, "the cpu backend converts to fp32 and bf16 only");
    copy_.resize(static_cast<std::size_t>(count));
    if (changes) compute.widen(copy_.data(), numbers.data, numbers.format, count);
    data_ = copy_.data();
  }
  WideResult(const WideResult&) = delete;
  WideResult& operator=(const WideResult&) = delete;
  ~WideResult() {
    if (copy_.empty()) return;
    compute_.convert(numbers_.data, numbers_.format, copy_.data(),
                     static_cast<std::int64_t>(copy_.size()));
  }

  [[nodiscard]] float* data() const { return data_; }

 private:
  Compute& compute_;
  Numbers numbers_;
  std::vector<float> copy_;
  float* data_;
};

}  // namespace meshwright::calibrate::cpu
