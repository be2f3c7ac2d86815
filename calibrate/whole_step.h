// SPDX-License-Identifier: Apache-2.0
// A whole step of a model that a calibration runs now and then while it measures other things, so
// that its median is of the host's usual speed.
#pragma once

#include <vector>

#include "calibrate/measure/core_wait.h"
#include "calibrate/measure/measurement.h"
#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

// All calls are collective over the ranks that calibrate.
class WholeStep {
 public:
  WholeStep() = default;
  WholeStep(const WholeStep&) = delete;
  WholeStep& operator=(const WholeStep&) = delete;
  virtual ~WholeStep() = default;
  // One step of every rank. The first ones only warm up.
  virtual void run() = 0;
  [[nodiscard]] virtual bool has_enough() const = 0;
  // Medians over the steps that count.
  [[nodiscard]] virtual std::vector<MeasuredPoint> points() const = 0;
};

// Runs `work`. Returns the share of its time in which this thread had its core; 1 where no clock
// says what it waited (MeasureOptions::core_waits).
template <typename Work>
double share_with_core(const Clock& core_waits, Work work) {
  const double waited = core_waits ? core_waits() : 0.0;
  const double start = steady_clock_seconds();
  work();
  const double taken = steady_clock_seconds() - start;
  if (!core_waits || taken <= 0.0) return 1.0;
  return without_wait(taken, core_waits() - waited) / taken;
}

}  // namespace meshwright::calibrate
