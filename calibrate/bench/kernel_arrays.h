// SPDX-License-Identifier: Apache-2.0
// What each bench of a kernel is made of: its arrays, and the comparison of its results.
#pragma once

#include <cmath>
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

// Arrays of one kernel: floats by count, filled with sample numbers or zeros.
class KernelBench : public Bench {
 public:
  KernelBench(Compute& compute, const KernelSizes& sizes) : Bench(compute), s_(sizes) {}
  void start(int repetitions) final {
    for (int i = 0; i < repetitions; ++i) once();
  }
  virtual void once() = 0;
  // Bytes of all its arrays.
  [[nodiscard]] Bytes footprint() const { return bytes(static_cast<double>(footprint_)); }

 protected:
  std::unique_ptr<DeviceArray> sample(std::int64_t count) {
    auto array = zeros(count);
    fill_with_sample(compute_, *array, ++stream_);
    return array;
  }
  std::unique_ptr<DeviceArray> zeros(std::int64_t count) {
    auto array =
        std::make_unique<DeviceArray>(compute_, static_cast<std::size_t>(count) * sizeof(float));
    compute_.fill_zero(array->data(), array->bytes());
    footprint_ += array->bytes();
    return array;
  }
  // Token ids 0, 7, 14, ... modulo `limit`.
  std::unique_ptr<DeviceArray> tokens(std::int64_t count, std::int64_t limit) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(7 * i) % limit);
    }
    auto array = zeros(count);
    compute_.upload(array->data(), ids.data(), ids.size() * sizeof(std::int32_t));
    return array;
  }
  std::vector<float> first(const DeviceArray& array, std::int64_t count) {
    return downloaded(compute_, array.floats(), static_cast<std::size_t>(count));
  }

  KernelSizes s_;

 private:
  unsigned stream_ = 0;
  std::size_t footprint_ = 0;
};

}  // namespace meshwright::calibrate
