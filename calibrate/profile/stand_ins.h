// SPDX-License-Identifier: Apache-2.0
// Number formats that a GPU has and nobody measured: the nearest format of its tensor cores that
// was measured, times what datasheets say of one against the other.
//
// Dense rates over those of 16 bits: tf32 1/2, fp8 2, fp4 4 (NVIDIA datasheets of A100, H100, L40S,
// B200); fp32, which has no tensor cores, 1/16 (A100 19.5 of 312; H100 67 of 989 is 1/15).
#pragma once

#include <string_view>
#include <vector>

#include "sim/hardware/device.h"

namespace meshwright::calibrate {

// Dense rate of a format over that of 16 bits.
double rate_over_sixteen_bits(Precision precision);

// Formats whose products the chips of an architecture have in their tensor cores; none for one that
// is not known.
std::vector<Precision> tensor_core_formats(std::string_view architecture);

// Adds a model for each format that device.architecture has, or fp32, and the device has no model
// of. Its shape parameters are the measured format's; no point of another format is taken over.
void add_stand_ins(Device& device);

}  // namespace meshwright::calibrate
