// SPDX-License-Identifier: Apache-2.0
// A whole step of a model that a calibration runs now and then while it measures other things, so
// that its median is of the host's usual speed.
#pragma once

#include <vector>

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

}  // namespace meshwright::calibrate
