// SPDX-License-Identifier: Apache-2.0
// Keeps the rank's stream from what it is asked next: a kernel of one thread that waits until the
// host sets a number in memory that both see. It ends by itself after kLongestHold, so that a host
// that itself waits for the device, or dies, hangs nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "calibrate/backends/cuda/check.h"

namespace meshwright::calibrate::cuda {

// What host and device tell each other. Holds have numbers from 1 on.
struct HoldWords {
  std::uint32_t let_go;   // written by the host: the last hold that it has ended
  std::uint32_t expired;  // written by the device: how many it ended itself
};

// Waits on the stream until words->let_go is `number` or more, at most kLongestHold.
void start_hold(HoldWords* words, std::uint32_t number);

class Hold {
 public:
  Hold() {
    void* memory = nullptr;
    CUDA_CHECK(cudaHostAlloc(&memory, sizeof(HoldWords), cudaHostAllocMapped));
    host_ = static_cast<HoldWords*>(memory);
    *host_ = {};
    CUDA_CHECK(cudaHostGetDevicePointer(&memory, host_, 0));
    device_ = static_cast<HoldWords*>(memory);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  // No kernel may look at the memory any more.
  ~Hold() {
    let_go();
    cudaDeviceSynchronize();
    cudaFreeHost(host_);
  }

  void hold() { start_hold(device_, ++number_); }
  void let_go() noexcept {
    std::atomic_ref<std::uint32_t>(host_->let_go).store(number_, std::memory_order_release);
  }
  // Of the holds that the stream has passed.
  [[nodiscard]] int expired() const {
    return static_cast<int>(
        std::atomic_ref<std::uint32_t>(host_->expired).load(std::memory_order_acquire));
  }

 private:
  HoldWords* host_ = nullptr;
  HoldWords* device_ = nullptr;
  std::uint32_t number_ = 0;
};

}  // namespace meshwright::calibrate::cuda
