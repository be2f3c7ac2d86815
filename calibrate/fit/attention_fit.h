// SPDX-License-Identifier: Apache-2.0
// Fused attention's rates from its times: sim's own model (AttentionRate), fitted for each head
// width and version of the kernel.
#pragma once

#include <vector>

#include "calibrate/fit/fit.h"
#include "calibrate/measure/points.h"
#include "sim/hardware/device.h"

namespace meshwright::calibrate {

// Points of kind attention, imported ones before own of the same width, version and pass; `device`
// has the products' peak that fractions are of. Puts a rate for each width and version that was
// measured into `device`, in place of one that it has; what too few points cannot say (how fast
// short sequences are) stays as that one has it.
std::vector<Fit> fit_attention(Device& device, const std::vector<MeasuredPoint>& points);

}  // namespace meshwright::calibrate
