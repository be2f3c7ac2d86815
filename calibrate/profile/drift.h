// SPDX-License-Identifier: Apache-2.0
// Does an older profile still say what this machine does? A tenth of its points is measured again.
//
// Points are compared in groups (products of one format, kernels, memory, one collective on one
// tier). A group has drifted when the geometric mean of new / old time is further from 1 than the
// tolerance and than three standard deviations of the mean, from both measurements' spread. Pure.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

// Every tenth point that can be timed again, and at least two of each group; in the points' order.
std::vector<MeasuredPoint> drift_sample(const std::vector<MeasuredPoint>& points);

struct GroupDrift {
  std::string group;        // "gemm fp32", "all_reduce inter_node"
  double time_ratio = 1.0;  // new / old
  double noise = 0.0;       // three standard deviations of the ratio, relative
  int points = 0;           // number of compared points
  bool drifted = false;
};

struct DriftReport {
  std::vector<GroupDrift> groups;
  [[nodiscard]] bool holds() const;
  // One sentence: that the profile holds, or what drifted, by how much, and what to do.
  [[nodiscard]] std::string sentence() const;
};

// tolerance: 0.15 is 15 %. Points of `again` without an older one of the same are left out.
DriftReport compare_points(const std::vector<MeasuredPoint>& before,
                           const std::vector<MeasuredPoint>& again, double tolerance);

}  // namespace meshwright::calibrate
