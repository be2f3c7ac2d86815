// SPDX-License-Identifier: Apache-2.0
// Rates of inference kernels on a device that has no rows of its own: fitted over all measured
// chips together (scripts/fit-serving-operators; errors with one chip left out:
// docs/validation/serving-operators_2026-11-26.md).
#pragma once

#include "sim/base/units.h"
#include "sim/hardware/inference_rates.h"

namespace meshwright {

const InferenceRates& pooled_rates();

// All-reduce of chips with NVLink that nobody timed (operator_time.h): latency of one and of two
// shots, and the shares of a link's bandwidth that they reach.
inline constexpr Seconds kOneShotLatency = microseconds(4.51);
inline constexpr double kOneShotFraction = 0.587;
inline constexpr Seconds kTwoShotLatency = microseconds(13.9);
inline constexpr double kTwoShotFraction = 0.682;
inline constexpr double kShotSpread = 0.256;

}  // namespace meshwright
