// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "calibrate/backends/cuda/device.h"
#include "calibrate/backends/cuda/nvml.h"

namespace meshwright::calibrate::cuda {

std::string architecture_of(ComputeCapability capability) {
  if (capability.major == 8) return capability.minor == 9 ? "ada" : "ampere";
  if (capability.major == 9) return "hopper";
  if (capability.major >= 10 && capability.major <= 12) return "blackwell";
  return "";
}

std::string connection_name(bool by_nvlink, unsigned num_nvlinks, int topology_level) {
  if (by_nvlink) return num_nvlinks > 0 ? fmt::format("NV{}", num_nvlinks) : "NV";
  switch (topology_level) {
    case 0:
      return "X";  // the same board
    case 10:
      return "PIX";
    case 20:
      return "PXB";
    case 30:
      return "PHB";
    case 40:
      return "NODE";
    case 50:
      return "SYS";
    default:
      return "?";
  }
}

}  // namespace meshwright::calibrate::cuda
