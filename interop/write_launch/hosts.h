// SPDX-License-Identifier: Apache-2.0
// The hosts that a launcher starts ranks on: a node of the cluster, or a tray of a rack that one
// NVLink domain joins.
#pragma once

#include <algorithm>

#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"

namespace meshwright::interop {

struct Hosts {
  int devices = 0;     // of a host
  int count = 0;       // number of hosts
  int per_domain = 1;  // hosts that one NVLink domain joins
};

inline Hosts hosts_of(const Cluster& cluster, const Layout& layout) {
  const int gpus = world_size(layout);
  const int tray = cluster.gpus_per_tray;
  const int used = std::min(gpus, tray > 0 ? tray : cluster.gpus_per_node);
  return {used, (gpus + used - 1) / used, tray > 0 ? std::max(1, cluster.gpus_per_node / tray) : 1};
}

}  // namespace meshwright::interop
