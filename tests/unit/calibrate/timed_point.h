// SPDX-License-Identifier: Apache-2.0
// A point all of whose samples took the same time.
#pragma once

#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

inline MeasuredPoint point(const Subject& subject, Bytes amount, double time) {
  MeasuredPoint p;
  p.subject = subject;
  p.amount = amount;
  p.measurement.summary = {.median = seconds(time),
                           .min = seconds(time),
                           .p10 = seconds(time),
                           .p90 = seconds(time),
                           .count = 7};
  p.measurement.stopped = StopReason::steady;
  return p;
}

}  // namespace meshwright::calibrate
