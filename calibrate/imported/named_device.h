// SPDX-License-Identifier: Apache-2.0
// Whether a tool's output is of a cluster's own device. Tools write "NVIDIA A100-SXM4-80GB" where a
// cluster has "NVIDIA A100 SXM4 80 GB": the chip alone is compared.
#pragma once

#include <string>
#include <vector>

#include "sim/hardware/device.h"

namespace meshwright::calibrate {

// Whether `named` has a chip's word of the device's name: "H100", "MI300X", "4090". Also true where
// the device's name has none.
bool may_be_device(const std::string& named, const Device& device);

// The first of the names that cannot be the device; empty: all can.
std::string other_device(const std::vector<std::string>& names, const Device& device);

}  // namespace meshwright::calibrate
