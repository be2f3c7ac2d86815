// SPDX-License-Identifier: Apache-2.0
// Time of a whole pass beyond the sum of its operators, where a calibration has measured it.
#pragma once

#include <cstdint>

#include "sim/hardware/device.h"

namespace meshwright {

// share(tokens): linear over log2(tokens) between two measured micro-batches; the nearest one's
// outside. 0 without any.
double remainder_share(const Device& device, ComputePass pass, std::int64_t tokens);

// time * (1 + share). The spread is that of the measured pass, where there is one.
Cost with_remainder(Cost operators, const Device& device, ComputePass pass, std::int64_t tokens);

}  // namespace meshwright
