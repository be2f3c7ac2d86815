// SPDX-License-Identifier: Apache-2.0
// The one stream of a rank. The legacy default stream is common to all shared objects of a process.
// Compute (this module) and collectives (the nccl module) therefore run on the device in the order
// in which the host asked, without events and without waiting on the host.
#pragma once

#include <cuda_runtime_api.h>

namespace meshwright::calibrate::cuda {

inline constexpr cudaStream_t kStream = nullptr;

}  // namespace meshwright::calibrate::cuda
