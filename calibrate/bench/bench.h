// SPDX-License-Identifier: Apache-2.0
// One thing to time. It is checked against a double-precision reference before a time is believed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "calibrate/backends/compute.h"

namespace meshwright::calibrate {

class Bench {
 public:
  Bench() = default;
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  virtual ~Bench() = default;

  // Runs once and compares. Empty when right, else what was wrong. Collective where run is.
  [[nodiscard]] virtual std::string check() = 0;
  // Does the work `repetitions` times and waits for it.
  virtual void run(int repetitions) = 0;
  // How many of the thing that is timed one repetition does.
  [[nodiscard]] virtual double units() const { return 1.0; }
};

// How many copies of `one` thing's memory to use in turn, so that none of it still lies in a cache
// when its turn comes: a step meets its operands so. 64 MiB is more than the second-level cache of
// an H100 (50 MB) or of any CPU core.
[[nodiscard]] inline std::size_t cold_copies(Bytes one) {
  constexpr double kCold = 64.0 * 1024 * 1024;
  constexpr double kMost = 64.0;
  return static_cast<std::size_t>(std::clamp(std::ceil(kCold / one.value()), 1.0, kMost));
}

// Device memory that is given back.
class DeviceArray {
 public:
  DeviceArray(Compute& compute, std::size_t bytes)
      : compute_(compute), bytes_(bytes), data_(compute.allocate(bytes)) {}
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { compute_.release(data_); }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] float* floats() const { return static_cast<float*>(data_); }
  [[nodiscard]] std::int32_t* ints() const { return static_cast<std::int32_t*>(data_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Compute& compute_;
  std::size_t bytes_;
  void* data_;
};

}  // namespace meshwright::calibrate
