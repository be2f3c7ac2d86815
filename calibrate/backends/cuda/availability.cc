// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/availability.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace meshwright::calibrate::cuda {

std::string version_text(int number) {
  return number == 0 ? "none" : fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

int visible_devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string why_unavailable() {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
    return "no NVIDIA driver is installed on this machine";
  }
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    return fmt::format("the NVIDIA driver is too old: it supports CUDA {}, this program needs {}",
                       version_text(driver), version_text(CUDART_VERSION));
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return "no NVIDIA GPU is visible (CUDA_VISIBLE_DEVICES may hide it)";
  }
  return error == cudaSuccess ? "" : fmt::format("CUDA says: {}", cudaGetErrorString(error));
}

}  // namespace meshwright::calibrate::cuda
