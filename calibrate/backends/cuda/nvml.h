// SPDX-License-Identifier: Apache-2.0
// What the driver's management library tells about a GPU: clocks, power limit, throttling, ECC,
// MIG. libnvidia-ml.so.1 comes with the driver and is opened when asked, never linked.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace meshwright::calibrate::cuda {

// `pci_bus_id` as cudaDeviceGetPCIBusId gives it. Only what NVML answered; empty without NVML.
std::vector<std::pair<std::string, std::string>> nvml_details(const std::string& pci_bus_id);

}  // namespace meshwright::calibrate::cuda
