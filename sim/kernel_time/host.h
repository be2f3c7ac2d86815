// SPDX-License-Identifier: Apache-2.0
// Work that overlaps in part, and what the host, which submits one kernel after the other, adds to
// the device's time.
#pragma once

#include "sim/base/units.h"

namespace meshwright {

// Two kinds of work that overlap, but not wholly where neither dominates: a 3-norm,
// (a^3 + b^3)^(1/3).
Seconds overlapped(Seconds a, Seconds b);

// Time that the host's launches add to a phase: overlapped(launching, device) - device. The host
// runs ahead where kernels are long and falls behind where they are short. The exponents 1.5, 2, 3
// and 20 were tried; 3, as in the GEMM model, had the smallest median error on vTrain's single-node
// runs.
Seconds host_time(Seconds launching, Seconds device);

}  // namespace meshwright
