// SPDX-License-Identifier: Apache-2.0
// One message there and back between partners, all pairs of a round at once.
#pragma once

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/measure/pairs.h"
#include "calibrate/measure/stragglers.h"

namespace meshwright::calibrate {

// Collective. Every rank gets all pairs' times, the lower rank of a pair first.
std::vector<PairTime> measure_pairs(Compute& compute, Communicator& world,
                                    const std::vector<PairRound>& rounds, Bytes message);

}  // namespace meshwright::calibrate
