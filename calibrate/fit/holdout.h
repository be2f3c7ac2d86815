// SPDX-License-Identifier: Apache-2.0
// Do a collective's measured points predict each other? Every second point of each curve is taken
// away and read from the others, as a plan would (sim/collective/collective.h).
//
// error = |predicted / measured - 1|. Within noise: no more than two standard deviations of what
// the point and its neighbours are known to.
#pragma once

#include <string>

#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {

struct Holdout {
  int predicted = 0;                           // points
  int within_noise = 0;                        // of them
  double median_error = 0.0, p90_error = 0.0;  // of |predicted / measured - 1|
  double median_noise = 0.0;                   // two standard deviations, relative
  [[nodiscard]] std::string sentence() const;
};

// Curves of one tier; inner points only, for beyond its ends a curve is not interpolated.
Holdout hold_out_half(const Cluster& cluster, Tier tier);

}  // namespace meshwright::calibrate
