// SPDX-License-Identifier: Apache-2.0
// The same call on the cpu backend, whose kernels are tested against their formulas, and on a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "calibrate/backends/backend.h"
#include "calibrate/bench/bench.h"
#include "tests/unit/calibrate/backends/cpu/values.h"

namespace meshwright::calibrate {

using cpu::values;
using Floats = std::vector<float>;
inline Floats zeros(std::int64_t count) { return Floats(static_cast<std::size_t>(count)); }

inline std::unique_ptr<Compute> gpu() {
  Backend& module = open_backend("cuda");
  return module.unavailable().empty() ? module.make_compute(0) : nullptr;
}

// Arrays of one device, filled from host numbers, read back at the end.
class Arrays {
 public:
  explicit Arrays(Compute& compute) : compute_(compute) {}

  float* in(const Floats& numbers) { return static_cast<float*>(uploaded(numbers)); }
  const std::int32_t* in(const std::vector<std::int32_t>& numbers) {
    return static_cast<const std::int32_t*>(uploaded(numbers));
  }
  // An array that the call changes; its first value is `start`.
  float* out(const Floats& start) {
    float* data = in(start);
    results_.push_back({data, start.size()});
    return data;
  }
  std::vector<Floats> results() {
    std::vector<Floats> all;
    for (const Result& r : results_) {
      all.emplace_back(r.count);
      compute_.download(all.back().data(), r.data, r.count * sizeof(float));
    }
    compute_.synchronize();
    return all;
  }

 private:
  struct Result {
    float* data;
    std::size_t count;
  };
  template <typename T>
  void* uploaded(const std::vector<T>& numbers) {
    arrays_.emplace_back(compute_, numbers.size() * sizeof(T));
    compute_.upload(arrays_.back().data(), numbers.data(), numbers.size() * sizeof(T));
    return arrays_.back().data();
  }

  Compute& compute_;
  std::deque<DeviceArray> arrays_;
  std::vector<Result> results_;
};

// Skips without a GPU. Tolerance: of max(1, |expected|); fp32 sums in another order and the cpu
// backend's fast exponentials (1e-6 each).
class OnBothDevices : public testing::Test {
 protected:
  void SetUp() override {
    gpu_ = gpu();
    if (gpu_ == nullptr) GTEST_SKIP() << open_backend("cuda").unavailable();
  }

  void expect_same(const std::function<void(Compute&, Arrays&)>& call, double tolerance = 1e-5) {
    Arrays on_cpu(*cpu_), on_gpu(*gpu_);
    call(*cpu_, on_cpu);
    call(*gpu_, on_gpu);
    const std::vector<Floats> expected = on_cpu.results(), is = on_gpu.results();
    ASSERT_FALSE(expected.empty());
    for (std::size_t a = 0; a < expected.size(); ++a) {
      for (std::size_t i = 0; i < expected[a].size(); ++i) {
        const double e = expected[a][i];
        ASSERT_NEAR(is[a][i], e, tolerance * std::max(1.0, std::abs(e)))
            << "array " << a << ", entry " << i;
      }
    }
  }

  std::unique_ptr<Compute> cpu_ = open_backend("cpu").make_compute(0);
  std::unique_ptr<Compute> gpu_;
};

}  // namespace meshwright::calibrate
