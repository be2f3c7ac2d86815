// SPDX-License-Identifier: Apache-2.0
// Memory of the device that is given back at the end.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "calibrate/backends/cuda/check.h"

namespace meshwright::calibrate::cuda {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t size) { reserve(size); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { cudaFree(data_); }

  // At least `size` bytes from now on; what was there is lost when it has to grow.
  void reserve(std::size_t size) {
    if (!try_reserve(size))
      throw_cuda_error(cudaErrorMemoryAllocation, "cudaMalloc", __FILE__, __LINE__);
  }
  // The same, or false where the device has not that much.
  bool try_reserve(std::size_t size) {
    if (size <= size_) return true;
    cudaFree(data_);
    size_ = cudaMalloc(&data_, size) == cudaSuccess ? size : 0;
    if (size_ == 0) data_ = nullptr;
    cudaGetLastError();  // a refusal is an answer here, no failure
    return size_ > 0;
  }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace meshwright::calibrate::cuda
