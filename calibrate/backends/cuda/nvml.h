// SPDX-License-Identifier: Apache-2.0
// What the driver's management library tells about a GPU: clocks, power, throttling, ECC, MIG, and
// what joins it with the others. libnvidia-ml.so.1 comes with the driver and is opened when asked,
// never linked.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/backends/device_state.h"

namespace meshwright::calibrate::cuda {

class Nvml;

// One GPU; the library stays open as long as this lives. Without NVML, nothing is known.
class NvmlDevice {
 public:
  // `pci_bus_id` as cudaDeviceGetPCIBusId gives it.
  explicit NvmlDevice(const std::string& pci_bus_id);
  NvmlDevice(const NvmlDevice&) = delete;
  NvmlDevice& operator=(const NvmlDevice&) = delete;
  ~NvmlDevice();

  [[nodiscard]] DeviceState state() const;
  // Only what NVML answered.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const;

 private:
  [[nodiscard]] std::string topology() const;

  std::unique_ptr<Nvml> nvml_;
  void* device_ = nullptr;
};

// Name of the connection of two GPUs as `nvidia-smi topo -m` writes it: NV18 for NVLinks, else the
// nearest common part of the PCIe tree (NVML's nvmlGpuTopologyLevel_t).
std::string connection_name(bool by_nvlink, unsigned num_nvlinks, int topology_level);

}  // namespace meshwright::calibrate::cuda
