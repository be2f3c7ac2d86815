// SPDX-License-Identifier: Apache-2.0
// How long this device takes now for what its profile has times of: other programs, hyper-threads
// and clocks make the same host faster and slower, from minute to minute, and a prediction with it.
#pragma once

#include <optional>
#include <vector>

#include "calibrate/point_measurer.h"

namespace meshwright::calibrate {

// Products and kernels of a tenth of a millisecond to a fiftieth of a second, a few of each, spread
// over the profile's; what was noisy then says nothing now.
std::vector<MeasuredPoint> speed_sample(const std::vector<MeasuredPoint>& points);

class HostSpeed {
 public:
  // `points`: of a profile of this device, measured by as many ranks as `world` has.
  HostSpeed(const std::vector<MeasuredPoint>& points, Compute& compute, Communicator& world);
  HostSpeed(const HostSpeed&) = delete;
  HostSpeed& operator=(const HostSpeed&) = delete;
  // Ranks' mean time now over the mean time then, which predictions rest on (the median and the
  // profile's system noise): the geometric mean over the sample; none where nothing of it could be
  // timed. Collective; two seconds.
  std::optional<double> time_ratio();

 private:
  std::vector<MeasuredPoint> sample_;  // with the profile's system noise
  MeasureOptions options_;
  std::vector<GroupShape> no_groups_;
  PointMeasurer measurer_;
  RankTimes rank_times_;
};

}  // namespace meshwright::calibrate
