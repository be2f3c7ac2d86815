// SPDX-License-Identifier: Apache-2.0
// Whether a tool's output is of a cluster's own device. Tools write "NVIDIA A100-SXM4-80GB" where a
// cluster has "NVIDIA A100 SXM4 80 GB": the chip is compared, and its form where both say it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/hardware/device.h"

namespace meshwright {

// Tells whether `named` has a chip's word of the device's name ("H100", "MI300X", "4090") and not
// another form of it ("PCIe" beside "SXM"). Also true where the device's name has no chip.
bool may_be_device(const std::string& named, const Device& device);

// Tells whether a name has a chip's word at all: "h100", not "gpu" or "hopper".
bool names_a_chip(const std::string& named);

// Tells whether a name is of a slice of a GPU under MIG: "a100_1g.5gb", "MIG 2g.20gb".
bool names_a_slice(const std::string& named);

// The first of the names that cannot be the device; empty: all can.
std::string other_device(const std::vector<std::string>& names, const Device& device);

// CUDA's compute capability, 90 for 9.0, of a chip that is known here.
std::optional<int> compute_capability(const Device& device);

}  // namespace meshwright
