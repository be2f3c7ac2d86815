// SPDX-License-Identifier: Apache-2.0
// Every rank's own times, point by point, as one number a rank and resource.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/points.h"
#include "calibrate/measure/stragglers.h"

namespace meshwright::calibrate {

class RankTimes {
 public:
  RankTimes(std::vector<std::string> host_of_rank, std::vector<int> local_numbers);
  // own: each rank's time of this point; products, kernels and copies count. A collective's time
  // is the same for all of its ranks.
  void add(const MeasuredPoint& point, const std::vector<double>& own);
  // Medians over the points of each rank's time over the median rank's.
  [[nodiscard]] std::vector<RankSpeed> speeds() const;

 private:
  using Ratios = std::vector<std::vector<double>>;  // of a rank, by point
  std::vector<std::string> hosts_;
  std::vector<int> local_;
  Ratios gemm_, memory_;
};

}  // namespace meshwright::calibrate
