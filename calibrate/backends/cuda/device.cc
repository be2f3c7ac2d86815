// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/device.h"

#include <cublasLt.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "calibrate/backends/cuda/availability.h"
#include "calibrate/backends/cuda/check.h"

namespace meshwright::calibrate::cuda {
namespace {

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, what, device));
  return value;
}

// The device can, and the kernel has the module that lets NICs reach its memory (dma-buf, which
// newer drivers offer besides, shows nowhere).
std::string gpudirect_rdma(int device) {
  if (attribute(cudaDevAttrGPUDirectRDMASupported, device) == 0) return "no";
  const bool module = std::filesystem::exists("/sys/module/nvidia_peermem") ||
                      std::filesystem::exists("/sys/module/nv_peer_mem");
  return module ? "yes, nvidia_peermem is loaded" : "the device can, nvidia_peermem is not loaded";
}

}  // namespace

std::string pci_bus_id(int device) {
  std::array<char, 32> id{};
  CUDA_CHECK(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device));
  return id.data();
}

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

Bytes free_memory() {
  std::size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return bytes(static_cast<double>(free));
}

DeviceDescription describe_device(int device) {
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  int driver = 0;
  CUDA_CHECK(cudaDriverGetVersion(&driver));
  DeviceDescription d;
  d.kind = "cuda";
  d.name = properties.name;
  d.architecture = architecture_of({properties.major, properties.minor});
  d.cache = bytes(properties.l2CacheSize);
  d.memory = bytes(static_cast<double>(properties.totalGlobalMem));
  d.free_memory = free_memory();
  d.num_multiprocessors = properties.multiProcessorCount;
  d.details = {{"compute_capability", fmt::format("{}.{}", properties.major, properties.minor)},
               {"l2_cache", fmt::format("{:.0f} MiB", properties.l2CacheSize / 1048576.0)},
               {"cuda_driver", version_text(driver)},
               {"cuda_libraries", libraries()},
               {"pci_bus_id", pci_bus_id(device)},
               {"gpudirect_rdma", gpudirect_rdma(device)}};
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
