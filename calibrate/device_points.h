// SPDX-License-Identifier: Apache-2.0
// Points of one device besides products: launches, memory, kernels, and the steps and attention of
// an inference engine. Pure.
#pragma once

#include <vector>

#include "calibrate/sweep.h"

namespace meshwright::calibrate {

// Launches, a copy inside the device's memory, and its link to the host.
std::vector<MeasuredPoint> memory_points(const SweepLimits& limits);

// Memory-bound kernels at the model's sizes; without a model at two usual ones.
std::vector<MeasuredPoint> kernel_points(const Workload& workload, const SweepLimits& limits);

// Steps of an engine, attention over its cache and, `between_ranks`, copies of the cache.
std::vector<MeasuredPoint> serving_points(const Workload& workload, bool between_ranks,
                                          const SweepLimits& limits);

}  // namespace meshwright::calibrate
