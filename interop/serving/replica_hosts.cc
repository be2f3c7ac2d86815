// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/replica_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/base/error.h"

namespace meshwright::interop {

std::string_view visible_devices_variable(ServedDevice device) {
  if (device == ServedDevice::core) return "";
  return device == ServedDevice::amd_gpu ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
}

std::string devices_text(ServedDevice device, int count) {
  return fmt::format("{} {}{}", count, device == ServedDevice::core ? "core" : "GPU",
                     count == 1 ? "" : "s");
}

int hosts_of_replica(const LaunchedPool& pool, const ServingHosts& hosts) {
  const int needed = num_gpus(pool.options.layout);
  if (hosts.devices <= 0 || needed <= hosts.devices) return 1;
  if (needed % hosts.devices != 0) {
    throw InputError("pools", "",
                     fmt::format("a replica of {} does not fill whole hosts of {}",
                                 devices_text(hosts.device, needed), hosts.devices));
  }
  return needed / hosts.devices;
}

std::vector<PlacedReplica> placed_replicas(const ServingLaunch& launch, const ServingHosts& hosts) {
  std::vector<std::size_t> order(launch.pools.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size = [&](std::size_t pool) { return num_gpus(launch.pools[pool].options.layout); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  std::vector<PlacedReplica> placed;
  int host = 0, taken = 0;  // devices of this host
  for (const std::size_t pool : order) {
    const int nodes = hosts_of_replica(launch.pools[pool], hosts);
    const int devices = size(pool) / nodes;
    for (int replica = 0; replica < launch.pools[pool].replicas; ++replica) {
      const int leader = host + (hosts.devices > 0 && taken + devices > hosts.devices ? 1 : 0);
      for (int node = 0; node < nodes; ++node) {
        if (hosts.devices > 0 && taken + devices > hosts.devices) {
          ++host;
          taken = 0;
        }
        placed.push_back({pool, replica, host, taken, devices, node, nodes, leader});
        taken += devices;
      }
    }
  }
  return placed;
}

}  // namespace meshwright::interop
