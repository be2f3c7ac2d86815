// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/shared_device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <utility>

#include "calibrate/backends/cuda/check.h"

namespace meshwright::calibrate {
namespace {

constexpr std::size_t kLength = 256;  // of a host's name or an address, ended by a zero
using Text = std::array<char, kLength>;

Text text(const std::string& s) {
  Text result{};
  std::copy_n(s.begin(), std::min(s.size(), kLength - 1), result.begin());
  return result;
}

std::string current_pci_bus_id() {
  int device = 0;
  Text id{};
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(kLength), device));
  return id.data();
}

std::vector<DevicePlace> places_of(HostRanks& ranks) {
  const std::array<Text, 2> mine{text(ranks.host()), text(current_pci_bus_id())};
  std::vector<std::array<Text, 2>> all(static_cast<std::size_t>(ranks.size()));
  ranks.host_gather(mine.data(), all.data(), sizeof mine);
  std::vector<DevicePlace> places;
  for (const auto& [host, pci_bus_id] : all) places.push_back({host.data(), pci_bus_id.data()});
  return places;
}

}  // namespace

bool any_shared(const std::vector<DevicePlace>& places) {
  std::set<std::pair<std::string, std::string>> seen;
  return !std::all_of(places.begin(), places.end(), [&](const DevicePlace& p) {
    return seen.emplace(p.host, p.pci_bus_id).second;
  });
}

bool one_host(const std::vector<DevicePlace>& places) {
  return std::all_of(places.begin(), places.end(),
                     [&](const DevicePlace& p) { return p.host == places.front().host; });
}

void allow_shared_devices(HostRanks& ranks) {
  const std::vector<DevicePlace> places = places_of(ranks);
  if (!any_shared(places)) return;
  constexpr int kKeepTheUsers = 0;
  setenv("NCCL_HOSTID", fmt::format("meshwright-rank-{}", ranks.rank()).c_str(), kKeepTheUsers);
  if (one_host(places)) setenv("NCCL_SOCKET_IFNAME", "lo", kKeepTheUsers);
  if (ranks.rank() != 0) return;
  fmt::print(stderr,
             "warning: several ranks share one GPU. Results are correct; timings are not "
             "meaningful. Start one rank per GPU.\n");
}

}  // namespace meshwright::calibrate
