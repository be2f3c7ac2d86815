// SPDX-License-Identifier: Apache-2.0
// What the program's exit code says; after SIGINT and SIGTERM it is that of process.h.
#pragma once

namespace meshwright::app {

inline constexpr int kDone = 0;
inline constexpr int kGateFailed = 1;     // or no layout fits
inline constexpr int kWrongInput = 2;     // or wrong usage
inline constexpr int kSystemFailure = 3;  // device, MPI or NCCL failure, or a write that failed

}  // namespace meshwright::app
