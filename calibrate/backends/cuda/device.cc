// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/device.h"

#include <cublasLt.h>
#include <fmt/format.h>

#include <array>

#include "calibrate/backends/cuda/availability.h"
#include "calibrate/backends/cuda/check.h"
#include "calibrate/backends/cuda/nvml.h"

namespace meshwright::calibrate::cuda {
namespace {

std::string pci_bus_id(int device) {
  std::array<char, 32> id{};
  CUDA_CHECK(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device));
  return id.data();
}

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, what, device));
  return value;
}

}  // namespace

int select_device(int local_rank) {
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  const int device = local_rank % count;
  CUDA_CHECK(cudaSetDevice(device));
  return device;
}

ComputeCapability compute_capability(int device) {
  return {attribute(cudaDevAttrComputeCapabilityMajor, device),
          attribute(cudaDevAttrComputeCapabilityMinor, device)};
}

DeviceDescription describe_device(int device) {
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  int driver = 0;
  CUDA_CHECK(cudaDriverGetVersion(&driver));
  DeviceDescription d;
  d.kind = "cuda";
  d.name = properties.name;
  d.memory = bytes(static_cast<double>(properties.totalGlobalMem));
  std::size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  d.free_memory = bytes(static_cast<double>(free));
  d.num_multiprocessors = properties.multiProcessorCount;
  d.details = {{"compute_capability", fmt::format("{}.{}", properties.major, properties.minor)},
               {"l2_cache", fmt::format("{:.0f} MiB", properties.l2CacheSize / 1048576.0)},
               {"cuda_driver", version_text(driver)},
               {"cuda_libraries", libraries()},
               {"pci_bus_id", pci_bus_id(device)}};
  for (auto& detail : nvml_details(pci_bus_id(device))) d.details.push_back(std::move(detail));
  return d;
}

// cuBLASLt writes 13.1.0 as 10000 * 13 + 100 * 1 + 0 (from 11.x on).
std::string libraries() {
  const std::size_t lt = cublasLtGetVersion();
  int runtime = 0;
  CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  return fmt::format("cuBLASLt {}.{}.{}, CUDA runtime {}", lt / 10000, lt / 100 % 100, lt % 100,
                     version_text(runtime));
}

}  // namespace meshwright::calibrate::cuda
