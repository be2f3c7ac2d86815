// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/error.h"
#include "sim/hardware/links.h"

namespace meshwright {

Layout default_layout(const Cluster& cluster) {
  Layout layout = cluster.framework.defaults.layout;
  constexpr std::array kLibraries{Lack::deepep, Lack::hybridep, Lack::ncclep};
  const auto library = static_cast<std::size_t>(layout.moe_flex_dispatcher_backend);
  const LackBits missing = lack_bit(Lack::flex_dispatcher) | lack_bit(kLibraries[library]);
  const bool runs = (cluster.lacks() & missing) == 0 && cluster.fast_domain() > 1;
  if (layout.moe_token_dispatcher_type == MoeTokenDispatcherType::flex && !runs) {
    layout.moe_token_dispatcher_type = MoeTokenDispatcherType::alltoall;
  }
  return layout;
}

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
