// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.h"
#include "sim/hardware/links.h"

namespace meshwright {

Cluster scaled_to(Cluster cluster, int gpus) {
  if (gpus < 1) throw InputError(fmt::format("{} devices: at least 1 is needed", gpus));
  if (gpus <= cluster.gpus_per_node) {
    const int nics = cluster.nics_per_node * gpus / cluster.gpus_per_node;
    cluster.nics_per_node = cluster.nics_per_node == 0 ? 0 : std::max(1, nics);
    cluster.gpus_per_node = gpus;
    cluster.gpus_per_island = std::min(cluster.gpus_per_island, gpus);
    cluster.num_nodes = 1;
    check_links(cluster);
    return cluster;
  }
  if (gpus % cluster.gpus_per_node != 0) {
    throw InputError(
        fmt::format("{} devices are no whole number of nodes of {}", gpus, cluster.gpus_per_node),
        fmt::format("use {} or {}", gpus / cluster.gpus_per_node * cluster.gpus_per_node,
                    (gpus / cluster.gpus_per_node + 1) * cluster.gpus_per_node));
  }
  cluster.num_nodes = gpus / cluster.gpus_per_node;
  check_links(cluster);
  return cluster;
}

}  // namespace meshwright
