// SPDX-License-Identifier: Apache-2.0
// Products and collectives of a model, together, by their share of a step at nominal rates. Pure.
#pragma once

#include <span>
#include <vector>

#include "calibrate/sweep.h"

namespace meshwright::calibrate {

std::vector<MeasuredPoint> demand_points(const Workload& workload,
                                         const std::vector<GroupShape>& shapes,
                                         std::span<const Precision> precisions,
                                         const SweepLimits& limits);

}  // namespace meshwright::calibrate
