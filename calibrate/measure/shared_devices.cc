// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/shared_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace meshwright::calibrate {
namespace {

constexpr std::size_t kTextLength = 256;  // ended by a zero
using HostText = std::array<char, kTextLength>;

HostText host_text(const std::string& s) {
  HostText result{};
  std::copy_n(s.begin(), std::min(s.size(), kTextLength - 1), result.begin());
  return result;
}

}  // namespace

std::vector<DeviceId> device_ids(Communicator& world, const std::string& mine) {
  const std::array<HostText, 2> own{host_text(world.host()), host_text(mine)};
  std::vector<std::array<HostText, 2>> all(static_cast<std::size_t>(world.size()));
  world.host_gather(own.data(), all.data(), sizeof own);
  std::vector<DeviceId> ids;
  for (const auto& [host, id] : all) ids.emplace_back(host.data(), id.data());
  return ids;
}

std::string shared_device(const std::vector<DeviceId>& device_of_rank) {
  std::map<DeviceId, std::size_t> first;
  for (std::size_t rank = 0; rank < device_of_rank.size(); ++rank) {
    const DeviceId& id = device_of_rank[rank];
    if (id.second.empty()) continue;
    const auto [known, is_new] = first.emplace(id, rank);
    if (is_new) continue;
    return fmt::format(
        "ranks {} and {} share the GPU {} of {}: they take turns on it, and a profile of that "
        "would "
        "say nothing about the GPU",
        known->second, rank, id.second, id.first);
  }
  return "";
}

std::string detail(const std::vector<std::pair<std::string, std::string>>& details,
                   const std::string& key) {
  const auto found =
      std::find_if(details.begin(), details.end(), [&](const auto& d) { return d.first == key; });
  return found == details.end() ? "" : found->second;
}

}  // namespace meshwright::calibrate
