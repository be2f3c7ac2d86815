// SPDX-License-Identifier: Apache-2.0
// The bench that times what a point says. A point that was read from a profile can be timed again.
#pragma once

#include <memory>

#include "calibrate/backends/communicator.h"
#include "calibrate/bench/bench.h"
#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

// False for a point of an older profile that does not say what exactly was timed.
bool can_be_timed(const MeasuredPoint& point);

// `group`: this rank's group, for collectives.
std::unique_ptr<Bench> make_point_bench(Compute& compute, Communicator& group,
                                        const MeasuredPoint& point);

}  // namespace meshwright::calibrate
