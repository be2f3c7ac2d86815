// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/availability.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "calibrate/backends/gpu_presence.h"

namespace meshwright::calibrate::cuda {

std::string version_text(int number) { return cuda_version_text(number); }

int visible_devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string why_unavailable() {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
    return no_library_words(find_gpus());
  }
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    return too_old_words(find_gpus(), driver, CUDART_VERSION);
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return no_device_words(find_gpus());
  }
  if (error == cudaErrorSystemNotReady) {
    return fmt::format("CUDA says: {} (with NVSwitch, nvidia-fabricmanager must be running)",
                       cudaGetErrorString(error));
  }
  return error == cudaSuccess ? "" : fmt::format("CUDA says: {}", cudaGetErrorString(error));
}

}  // namespace meshwright::calibrate::cuda
