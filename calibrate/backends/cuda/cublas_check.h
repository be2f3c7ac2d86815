// SPDX-License-Identifier: Apache-2.0
// A failed cuBLASLt call becomes a SystemError that names the call, its place and the library's
// text.
#pragma once

#include <cublasLt.h>
#include <fmt/format.h>

#include <string_view>

#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {

[[noreturn]] inline void throw_cublas_error(cublasStatus_t status, const char* call,
                                            std::string_view file, int line) {
  throw SystemError(fmt::format("cuBLASLt: {} (at {}:{}: {})", cublasLtGetStatusString(status),
                                file.substr(file.find_last_of('/') + 1), line, call));
}

}  // namespace meshwright::calibrate::cuda

#define CUBLAS_CHECK(call)                                                                    \
  do {                                                                                        \
    const cublasStatus_t cublas_check_status = (call);                                        \
    if (cublas_check_status != CUBLAS_STATUS_SUCCESS) {                                       \
      ::meshwright::calibrate::cuda::throw_cublas_error(cublas_check_status, #call, __FILE__, \
                                                        __LINE__);                            \
    }                                                                                         \
  } while (false)
