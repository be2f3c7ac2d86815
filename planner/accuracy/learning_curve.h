// SPDX-License-Identifier: Apache-2.0
// How good the predictions of a set's other runs become when a few of it are known: those that
// were picked to tell most, against any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/accuracy/measured_set.h"

namespace meshwright::planner {

struct CurvePoint {
  int runs = 0;                          // number of runs that were used
  double median_error_percent = 0;       // per cent, over the runs that were not used
  std::optional<double> regret_percent;  // mean over groups; a known run's own time is its price
  // Intervals of the runs that were not used: share that contains the measurement, and mean width.
  double coverage_percent = 0, width_percent = 0;
};
struct LearningCurve {
  std::string set;
  int runs = 0;                             // of the set
  std::vector<CurvePoint> telling, random;  // random: means over the seeds
};

// `set`: of one software. Counts that leave no run to predict are left out. Deterministic.
LearningCurve learning_curve(const MeasuredSet& set, const std::vector<int>& counts,
                             int random_seeds = 5);

// The others' predictions when these runs are known.
CurvePoint known_point(const MeasuredSet& set, const std::vector<std::size_t>& known);

}  // namespace meshwright::planner
