// SPDX-License-Identifier: Apache-2.0
// The GPU of this rank and what is to know about it.
#pragma once

#include <string>

#include "calibrate/backends/compute.h"

namespace meshwright::calibrate::cuda {

// Makes device local_rank (modulo the devices that are visible, as srun may show each rank its own
// alone) current and returns its number.
int select_device(int local_rank);

DeviceDescription describe_device(int device);
std::string pci_bus_id(int device);
Bytes free_memory();  // of the current device

struct ComputeCapability {
  int major = 0, minor = 0;
  [[nodiscard]] bool at_least(int a, int b) const {
    return major > a || (major == a && minor >= b);
  }
};
ComputeCapability compute_capability(int device);
// "hopper" (CUDA C++ Programming Guide, compute capabilities); empty for older or unknown ones.
std::string architecture_of(ComputeCapability capability);

// "cuBLASLt 13.1.0, CUDA runtime 13.0"
std::string libraries();

}  // namespace meshwright::calibrate::cuda
