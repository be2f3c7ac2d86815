// SPDX-License-Identifier: Apache-2.0
// Time that ranks lose by waiting for the slowest of them.
//
// Times of n equal ranks spread as a normal with standard deviation sigma: the slowest takes
// 1 + c(n) sigma of the mean, c the expected maximum of n standard normals (order statistics:
// c(2) = 1/sqrt(pi), c(8) 1.424, c(64) 2.344, c(1,024) 3.248, c(16,384) 3.971).
#pragma once

#include "sim/hardware/device.h"

namespace meshwright {

// c(n) to 0.5 %: exact at powers of two, straight in log n between them.
double expected_maximum(int ranks);

// Standard deviation of the speed of devices of one kind, relative. GPUs of one node differ by 5 %
// and more in the same product (ml-engineering compute/accelerator, 744d01e1): the range of eight
// normals is 2.85 sigma, so sigma is 1.75 %. Cores of a machine share one clock.
inline constexpr double kGpuSpeedSpread = 0.0175;
constexpr double speed_spread(const Device& device) {
  return device.kind == DeviceKind::gpu ? kGpuSpeedSpread : 0.0;
}

// Time of a step's kernels on the slowest of `ranks` devices, relative to an average device; 1 or
// more.
double slowest_of(int ranks, const Device& device);

// Wait of each of `ranks` ranks for the slowest, relative to the time of the kernels, if they
// synchronise after every few kernels: c(n) * time_jitter. With fewer synchronisations the waits
// would average out.
double wait_for_slowest(int ranks, const Device& device);

}  // namespace meshwright
