// SPDX-License-Identifier: Apache-2.0
// Time of a whole pass beyond the sum of its operators, where a calibration has measured it.
#pragma once

#include <cstdint>

#include "sim/hardware/device.h"

namespace meshwright {

// share(tokens): linear over log2(tokens) between two measured micro-batches; the nearest one's
// outside. 0 without any.
double remainder_share(const Device& device, ComputePass pass, std::int64_t tokens);

// How much a pass of the model varied while the device was calibrated, one standard deviation,
// relative: the median over its forward and backward passes. A calibration runs them now and then,
// so it is how the host's speed moves between then and a run. 0 without any.
double movement_of_passes(const Device& device);

// time * (1 + share). The spread is that of the measured pass, where there is one.
Cost with_remainder(Cost operators, const Device& device, ComputePass pass, std::int64_t tokens);

}  // namespace meshwright
