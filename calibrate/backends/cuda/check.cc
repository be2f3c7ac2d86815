// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/check.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "calibrate/backends/compute.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {
namespace {

// The name alone: a build folder's path says nothing to the reader.
std::string place(std::string_view file, int line) {
  return fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), line);
}

std::string hint_for(cudaError_t error) {
  if (error == cudaErrorMemoryAllocation) {
    return "the device's memory is full: other programs on it (nvidia-smi), or a smaller "
           "micro-batch";
  }
  if (error == cudaErrorNoKernelImageForDevice) {
    return "this build has no code for the device; configure with "
           "-DCMAKE_CUDA_ARCHITECTURES=native";
  }
  return "";
}

}  // namespace

// CUDA keeps an error until it is asked for: the next launch's check must not see this one again.
void throw_cuda_error(cudaError_t error, const char* call, const char* file, int line) {
  cudaGetLastError();
  const std::string what = fmt::format("CUDA: {} ({}, at {}: {})", cudaGetErrorString(error),
                                       cudaGetErrorName(error), place(file, line), call);
  if (error == cudaErrorMemoryAllocation) throw OutOfMemory(what, hint_for(error));
  throw SystemError(what, hint_for(error));
}

}  // namespace meshwright::calibrate::cuda
