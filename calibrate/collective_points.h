// SPDX-License-Identifier: Apache-2.0
// Collectives that a calibration times, alone and beside products, and copies beside products.
// Pure.
#pragma once

#include <vector>

#include "calibrate/sweep.h"

namespace meshwright::calibrate {

// A model's collective over each group of its size.
std::vector<MeasuredPoint> collective_points(const CollectiveDemand& demand,
                                             const std::vector<GroupShape>& shapes);

// The general grid. Coarse: every third doubling and the largest, the smallest and a large one
// first, so that a few points say both latency and bandwidth. Fine: all doublings.
enum class Grid { coarse, fine };
std::vector<MeasuredPoint> collective_grid(Grid grid, const std::vector<GroupShape>& shapes,
                                           const SweepLimits& limits);

// Products beside what a step runs beside products: all-reduces, reduce-scatters and all-gathers of
// gradients and weights over all ranks, those of tensor ranks inside a node, the all-to-alls of
// experts, and copies of what is offloaded. A core moves its own messages whatever it multiplies:
// one product beside one collective says it all.
std::vector<MeasuredPoint> overlap_points(const std::vector<GroupShape>& shapes,
                                          const SweepLimits& limits);

}  // namespace meshwright::calibrate
