// SPDX-License-Identifier: Apache-2.0
// Which point of a calibration is measured next, for how long at most, and which are left out: what
// rank 0 decides for all, from its clock and from what has been measured.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/budget.h"
#include "calibrate/calibrator.h"

namespace meshwright::calibrate {

struct Decision {
  std::size_t point = 0;       // index into the points to measure
  double limit = 0.0;          // seconds
  double target_error = 0.01;  // of its median: see StopOptions
  bool stop = false;           // there is no point
};

class Agenda {
 public:
  // All outlive it. `shares`: each point's of a step (step_shares).
  Agenda(const CalibrationOptions& options, const std::vector<MeasuredPoint>& tasks,
         const std::vector<double>& shares)
      : options_(options), tasks_(tasks), shares_(shares), budget_(tasks) {}

  // Skips the points of an earlier run and charges their time to the budget. Returns their number.
  std::size_t pass_over_known();
  // `points`: measured so far; `used`: seconds of the budget.
  [[nodiscard]] Decision next(const std::vector<MeasuredPoint>& points, double used);
  void done(std::size_t point, double seconds, bool was_measured) {
    budget_.done(point, seconds, was_measured);
  }

  // Sentences, empty where there is nothing to say: what the budget left out once it was used up,
  // and which collectives were too long for it.
  [[nodiscard]] std::string left_out() const;
  [[nodiscard]] std::string too_long() const;

 private:
  [[nodiscard]] double target_error(std::size_t point) const;
  [[nodiscard]] double expected_seconds(const MeasuredPoint& task,
                                        const std::vector<MeasuredPoint>& points) const;

  const CalibrationOptions& options_;
  const std::vector<MeasuredPoint>& tasks_;
  const std::vector<double>& shares_;
  Budget budget_;
  int too_long_ = 0;
};

}  // namespace meshwright::calibrate
