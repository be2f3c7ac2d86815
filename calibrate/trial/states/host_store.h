// SPDX-License-Identifier: Apache-2.0
// The host's memory beside the device's: activations that wait there for their backward, and an
// optimizer that lives there (Megatron-LM --cpu-offloading-num-layers, --offload-modules,
// --optimizer-cpu-offload).
//
// On cores the host is memory of its own, too: what goes there is copied, and its place on the
// device is free for others.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "calibrate/backends/compute.h"
#include "calibrate/trial/ranks/arena.h"
#include "calibrate/trial/ranks/recorder.h"

namespace meshwright::calibrate {

// One of several tensors, while it is on the host.
struct HostCopy {
  std::size_t part = 0;  // which of them
  float* host = nullptr;
  std::int64_t count = 0;  // of its numbers
  Precision format = Precision::fp32;
};

// fp32 states of an optimizer: `count` numbers each. Empty until the first step.
struct HostStates {
  float *weight = nullptr, *gradient = nullptr, *exp_avg = nullptr, *exp_avg_sq = nullptr;
};

class HostStore {
 public:
  HostStore(Compute& compute, Arena& arena, Recorder& recorder)
      : compute_(compute), arena_(arena), recorder_(recorder) {}
  HostStore(const HostStore&) = delete;
  HostStore& operator=(const HostStore&) = delete;
  ~HostStore();

  // Copies those that are not empty to the host and gives up their device memory; and back.
  [[nodiscard]] std::vector<HostCopy> put(const std::vector<Tensor*>& parts);
  void bring_back(const std::vector<Tensor*>& parts, std::vector<HostCopy>& copies);

  // Adam on the host: the gradient goes there, the weight comes back.
  void update(HostStates& states, float* weight, const float* gradient, std::int64_t count,
              const AdamStep& step);

  void begin_step() { to_host_ = to_device_ = 0; }
  [[nodiscard]] Bytes to_host() const { return bytes(static_cast<double>(to_host_)); }
  [[nodiscard]] Bytes to_device() const { return bytes(static_cast<double>(to_device_)); }

 private:
  [[nodiscard]] float* take(std::int64_t count);
  void give(float* block, std::int64_t count) { free_.emplace(count, block); }
  // `count` words of 4 bytes.
  void send(float* host, const void* device, std::int64_t count);
  void fetch(void* device, const float* host, std::int64_t count);
  void make(HostStates& states, const float* weight, std::int64_t count);

  Compute& compute_;
  Arena& arena_;
  Recorder& recorder_;
  std::vector<float*> blocks_;
  std::multimap<std::int64_t, float*> free_;
  std::size_t to_host_ = 0, to_device_ = 0;
};

}  // namespace meshwright::calibrate
