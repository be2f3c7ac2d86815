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
    if (size <= size_) return;
    CUDA_CHECK(cudaFree(data_));
    data_ = nullptr;
    size_ = 0;
    CUDA_CHECK(cudaMalloc(&data_, size));
    size_ = size;
  }
  // False when the device has not that much.
  bool try_reserve(std::size_t size) {
    if (size <= size_) return true;
    if (data_ != nullptr || cudaMalloc(&data_, size) != cudaSuccess) {
      data_ = size_ == 0 ? nullptr : data_;
      cudaGetLastError();  // a refused allocation is an answer here, not a failure
      return false;
    }
    size_ = size;
    return true;
  }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace meshwright::calibrate::cuda
