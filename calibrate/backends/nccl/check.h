// SPDX-License-Identifier: Apache-2.0
// A failed NCCL call becomes a SystemError with NCCL's text and its last, more telling, message.
#pragma once

#include <nccl.h>

namespace meshwright::calibrate {

// `communicator` may be null: before there is one.
[[noreturn]] void throw_nccl_error(ncclResult_t result, ncclComm_t communicator, const char* call,
                                   const char* file, int line);

}  // namespace meshwright::calibrate

#define NCCL_CHECK(communicator, call)                                                            \
  do {                                                                                            \
    const ncclResult_t nccl_check_result = (call);                                                \
    if (nccl_check_result != ncclSuccess) {                                                       \
      ::meshwright::calibrate::throw_nccl_error(nccl_check_result, communicator, #call, __FILE__, \
                                                __LINE__);                                        \
    }                                                                                             \
  } while (false)
