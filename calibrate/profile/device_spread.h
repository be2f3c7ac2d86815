// SPDX-License-Identifier: Apache-2.0
// How much devices of one kind differ, over all nodes that were measured, and what a job that waits
// for the slowest loses to that.
//
// A device's relative time is its products' over its own job's median device, times how its job's
// products compare with those of all jobs. A job's points are the slowest rank's times, so they are
// divided by that rank's relative time first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/profile/profile.h"

namespace meshwright::calibrate {

struct DeviceSpread {
  std::vector<double> relative_times;  // of each device, around 1
  double sigma = 0.0;                  // standard deviation of their logarithms
  std::string slowest;                 // "number 3 on node7"
  double slowest_time = 1.0;           // its time, relative to the mean
  // "64 devices, sigma 1.8 %: ..."
  [[nodiscard]] std::string sentence() const;
};

// Nothing where fewer than three devices were compared. Their products count, in the shapes that
// every profile has.
std::optional<DeviceSpread> spread_between_devices(const std::vector<Profile>& profiles);

}  // namespace meshwright::calibrate
