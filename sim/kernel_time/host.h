// SPDX-License-Identifier: Apache-2.0
// What the host, which submits one kernel after the other, adds to the device's time.
#pragma once

#include "sim/base/units.h"

namespace meshwright {

// What the host's launches add to a phase: (launching^3 + device^3)^(1/3) - device. The host runs
// ahead where kernels are long and falls behind where they are short, so neither hides wholly
// behind the other where they are alike; where one dominates, it wins. The exponent is the GEMM
// model's; of 1.5, 2, 3 and 20 it had the smallest median error on vTrain's single-node runs.
Seconds host_time(Seconds launching, Seconds device);

}  // namespace meshwright
