// SPDX-License-Identifier: Apache-2.0
// A failed CUDA call becomes a SystemError that names the call, its place and CUDA's own text.
// Kernels fail later: CUDA_CHECK(cudaGetLastError()) after a launch sees a wrong launch,
// synchronize() sees what went wrong inside.
#pragma once

#include <cuda_runtime_api.h>

namespace meshwright::calibrate::cuda {

[[noreturn]] void throw_cuda_error(cudaError_t error, const char* call, const char* file, int line);

}  // namespace meshwright::calibrate::cuda

#define CUDA_CHECK(call)                                                                 \
  do {                                                                                   \
    const cudaError_t cuda_check_error = (call);                                         \
    if (cuda_check_error != cudaSuccess) {                                               \
      ::meshwright::calibrate::cuda::throw_cuda_error(cuda_check_error, #call, __FILE__, \
                                                      __LINE__);                         \
    }                                                                                    \
  } while (false)
