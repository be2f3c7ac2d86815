// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/check.h"

#include <fmt/format.h>

#include <string_view>

#include "sim/base/error.h"

namespace meshwright::calibrate {

void throw_nccl_error(ncclResult_t result, ncclComm_t communicator, const char* call,
                      const char* file, int line) {
  const std::string_view path = file;
  const char* last = ncclGetLastError(communicator);
  const std::string more = last == nullptr || *last == '\0' ? "" : fmt::format(": {}", last);
  throw SystemError(fmt::format("NCCL: {}{} (at {}:{}: {})", ncclGetErrorString(result), more,
                                path.substr(path.find_last_of('/') + 1), line, call),
                    "NCCL_DEBUG=INFO shows what NCCL found and tried");
}

}  // namespace meshwright::calibrate
