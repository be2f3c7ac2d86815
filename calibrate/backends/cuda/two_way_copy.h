// SPDX-License-Identifier: Apache-2.0
// Copies between host and device on streams of their own: one each way at once, both after what the
// rank's stream was asked before and before what it is asked next; or beside the rank's stream.
#pragma once

#include "calibrate/backends/compute.h"
#include "calibrate/backends/cuda/event.h"

namespace meshwright::calibrate::cuda {

// A stream that does not wait for the legacy default stream.
class SideStream {
 public:
  SideStream() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  ~SideStream() { cudaStreamDestroy(stream_); }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class TwoWayCopy {
 public:
  void run(const Compute::BothWays& t) {
    before_.record();
    before_.delay(up_.get());
    before_.delay(down_.get());
    CUDA_CHECK(
        cudaMemcpyAsync(t.to_device, t.from_host, t.bytes, cudaMemcpyHostToDevice, up_.get()));
    CUDA_CHECK(
        cudaMemcpyAsync(t.to_host, t.from_device, t.bytes, cudaMemcpyDeviceToHost, down_.get()));
    up_done_.record(up_.get());
    down_done_.record(down_.get());
    up_done_.delay(kStream);
    down_done_.delay(kStream);
  }

 private:
  SideStream up_, down_;
  Event before_, up_done_, down_done_;
};

// Neither waits for the rank's stream nor it for them.
class CopiesBeside {
 public:
  void upload(void* device, const void* host, std::size_t bytes) {
    CUDA_CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, up_.get()));
  }
  void download(void* host, const void* device, std::size_t bytes) {
    CUDA_CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, down_.get()));
  }
  void wait() {
    CUDA_CHECK(cudaStreamSynchronize(up_.get()));
    CUDA_CHECK(cudaStreamSynchronize(down_.get()));
  }

 private:
  SideStream up_, down_;
};

}  // namespace meshwright::calibrate::cuda
