// SPDX-License-Identifier: Apache-2.0
// A failed MPI call becomes a SystemError with MPI's own text. MPI returns errors only where the
// communicator's handler is MPI_ERRORS_RETURN; the module sets it on every communicator it makes.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <array>

#include "sim/base/error.h"

namespace meshwright::calibrate {

inline void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw SystemError(fmt::format("{} failed: {}", call, text.data()));
}

}  // namespace meshwright::calibrate
