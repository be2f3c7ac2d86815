// SPDX-License-Identifier: Apache-2.0
// What each bench of a kernel is made of: its arrays, and the comparison of its results.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/bench/bench.h"
#include "calibrate/bench/sample_data.h"
#include "calibrate/measure/kernel_sizes.h"

namespace meshwright::calibrate {

// Empty where they agree as fp32 results of up to some thousand terms do, fast exponentials
// included; else a sentence.
std::string compare_kernel(std::string_view what, double is, double expected);

using Array = std::shared_ptr<DeviceArray>;

// What a step has just written when a kernel reads it, or writes over soon after it was read: one
// array for all copies of a bench, so that it stays in the cache. The copies ask for theirs in the
// same order.
class FreshArrays {
 public:
  void begin_copy() { next_ = 0; }
  Array next(const std::function<Array()>& make) {
    if (next_ == arrays_.size()) arrays_.push_back(make());
    return arrays_[next_++];
  }

 private:
  std::vector<Array> arrays_;
  std::size_t next_ = 0;
};

// Arrays of one kernel: floats by count, filled with sample numbers or zeros. Those of a copy take
// turns with the other copies', so that a kernel meets them in memory: what a step saves for the
// backward pass, weights, states.
class KernelBench : public Bench {
 public:
  KernelBench(Compute& compute, const KernelSizes& sizes, FreshArrays& fresh)
      : Bench(compute), s_(sizes), fresh_(fresh) {
    fresh_.begin_copy();
  }
  void start(int repetitions) final {
    for (int i = 0; i < repetitions; ++i) once();
  }
  virtual void once() = 0;
  // Bytes of the arrays that take turns.
  [[nodiscard]] Bytes footprint() const { return bytes(static_cast<double>(footprint_)); }

 protected:
  Array zeros(std::int64_t count) {
    footprint_ += static_cast<std::size_t>(count) * sizeof(float);
    return filled(count, 0);
  }
  Array sample(std::int64_t count, unsigned stream) {
    footprint_ += static_cast<std::size_t>(count) * sizeof(float);
    return filled(count, stream);
  }
  Array fresh_zeros(std::int64_t count) {
    return fresh_.next([&] { return filled(count, 0); });
  }
  Array fresh_sample(std::int64_t count, unsigned stream) {
    return fresh_.next([&] { return filled(count, stream); });
  }
  // Token ids 0, 7, 14, ... modulo `limit`.
  Array tokens(std::int64_t count, std::int64_t limit) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(7 * i) % limit);
    }
    Array array = fresh_zeros(count);
    compute_.upload(array->data(), ids.data(), ids.size() * sizeof(std::int32_t));
    return array;
  }
  std::vector<float> first(const DeviceArray& array, std::int64_t count) {
    return downloaded(compute_, array.floats(), static_cast<std::size_t>(count));
  }

  KernelSizes s_;

 private:
  // Of stream 0 zeros.
  Array filled(std::int64_t count, unsigned stream) {
    auto array =
        std::make_shared<DeviceArray>(compute_, static_cast<std::size_t>(count) * sizeof(float));
    if (stream == 0) {
      compute_.fill_zero(array->data(), array->bytes());
    } else {
      fill_with_sample(compute_, *array, stream);
    }
    return array;
  }

  FreshArrays& fresh_;
  std::size_t footprint_ = 0;
};

}  // namespace meshwright::calibrate
