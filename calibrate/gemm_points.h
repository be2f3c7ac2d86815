// SPDX-License-Identifier: Apache-2.0
// Products that a calibration times: single calls, and the largest one sustained. Pure.
#pragma once

#include <span>
#include <vector>

#include "calibrate/sweep.h"

namespace meshwright::calibrate {

// Each variant in each format that the device multiplies in, if it fits its memory and its share of
// the budget.
std::vector<MeasuredPoint> gemm_points(std::span<const GemmVariant> variants,
                                       std::span<const Precision> precisions,
                                       const SweepLimits& limits);

// The largest product of each format, alone and sustained: it draws the most power. Clocks settle
// within a second. Of a core, or of a short budget: none.
std::vector<MeasuredPoint> sustained_points(std::span<const Precision> precisions,
                                            const SweepLimits& limits);

}  // namespace meshwright::calibrate
