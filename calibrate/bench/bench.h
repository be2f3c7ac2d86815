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
  explicit Bench(Compute& compute) : compute_(compute) {}
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  virtual ~Bench() = default;

  // Runs once and compares. Empty when right, else what was wrong. Collective where run is.
  [[nodiscard]] virtual std::string check() = 0;
  // Asks the device for the work, `repetitions` times, and waits for nothing.
  virtual void start(int repetitions) = 0;
  void run(int repetitions) {
    start(repetitions);
    compute_.synchronize();
  }
  // Number of timed operations per repetition.
  [[nodiscard]] virtual double units() const { return 1.0; }
  // Its operands may lie in a cache although a step would not find them there: they are too small,
  // or the device's memory is.
  [[nodiscard]] virtual bool is_warm() const { return false; }

  // From now on with the fastest of the algorithms that the library has, where there are several
  // (Compute::chooses_algorithms).
  virtual void use_fastest_algorithm() {}

 protected:
  Compute& compute_;
};

// Returns how many copies of an operand of `footprint` bytes to use in rotation. The copies
// together have twice the last-level cache, so no copy is in the cache when it is used again, as in
// a step. If the cache's size is unknown, more than an H100's (50 MB) is assumed. The copies take
// at most an eighth of the memory.
inline constexpr std::size_t kMostCopies = 1024;
[[nodiscard]] inline std::size_t cold_copies(Bytes footprint, const DeviceDescription& device) {
  constexpr Bytes kUnknownCache = mebibytes(64);
  const Bytes cache = device.cache.value() > 0.0 ? device.cache : kUnknownCache;
  const double wanted = 1.0 + std::ceil(2.0 * cache / footprint);
  const double room = std::floor(device.free_memory * (1.0 / 8.0) / footprint);
  return static_cast<std::size_t>(
      std::clamp(std::min(wanted, room), 1.0, static_cast<double>(kMostCopies)));
}
// Copies of `footprint` bytes that together are what a step reads between two uses of one.
[[nodiscard]] inline std::size_t copies_between_uses(Bytes footprint, Bytes reused_after) {
  return static_cast<std::size_t>(std::max(1.0, std::round(reused_after / footprint)));
}
// Tells whether so many copies are still in the cache when their turn comes.
[[nodiscard]] inline bool stays_in_cache(Bytes footprint, std::size_t copies,
                                         const DeviceDescription& device) {
  const double others = static_cast<double>(copies - 1);
  return footprint <= device.cache && footprint * others < device.cache;
}

// Memory of the host that the device reaches by itself, given back at the end.
class HostArray {
 public:
  HostArray(Compute& compute, std::size_t bytes)
      : compute_(compute), bytes_(bytes), data_(compute.allocate_host(bytes)) {}
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;
  ~HostArray() { compute_.release_host(data_); }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] float* floats() const { return static_cast<float*>(data_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Compute& compute_;
  std::size_t bytes_;
  void* data_;
};

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
