// SPDX-License-Identifier: Apache-2.0
// A moment on a stream, which the device notes when it gets there.
#pragma once

#include <cuda_runtime_api.h>

#include "calibrate/backends/cuda/check.h"
#include "calibrate/backends/cuda/stream.h"

namespace meshwright::calibrate::cuda {

class Event {
 public:
  Event() { CUDA_CHECK(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }

  void record(cudaStream_t stream = kStream) const { CUDA_CHECK(cudaEventRecord(event_, stream)); }
  // Makes all later work on `stream` wait for this moment.
  void delay(cudaStream_t stream) const { CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0)); }
  // Since `begin`, once this one has come.
  [[nodiscard]] float milliseconds_since(const Event& begin) const {
    float elapsed = 0.0F;
    CUDA_CHECK(cudaEventSynchronize(event_));
    CUDA_CHECK(cudaEventElapsedTime(&elapsed, begin.event_, event_));
    return elapsed;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace meshwright::calibrate::cuda
