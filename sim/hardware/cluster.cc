// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "sim/base/error.h"
#include "sim/hardware/links.h"
#include "sim/hardware/node_count.h"

namespace meshwright {

Layout default_layout(const Cluster& cluster) {
  Layout layout = cluster.framework.defaults.layout;
  constexpr std::array kLibraries{Unsupported::deepep, Unsupported::hybridep, Unsupported::ncclep};
  const auto library = static_cast<std::size_t>(layout.moe_flex_dispatcher_backend);
  const UnsupportedBits missing =
      lack_bit(Unsupported::flex_dispatcher) | lack_bit(kLibraries[library]);
  const bool runs = (cluster.lacks() & missing) == 0 && cluster.fast_domain() > 1;
  if (layout.moe_token_dispatcher_type == MoeTokenDispatcherType::flex && !runs) {
    layout.moe_token_dispatcher_type = MoeTokenDispatcherType::alltoall;
  }
  return layout;
}

Layout with_proven_dispatcher(Layout layout, const Cluster& cluster) {
  const UnsupportedBits missing = cluster.lacks() | cluster.unproven.bits();
  const int ranks = expert_tensor_size(layout) * layout.expert_parallel_size;
  const bool crosses = ranks > cluster.fast_domain();
  if (layout.moe_token_dispatcher_type == MoeTokenDispatcherType::flex && crosses &&
      (missing & lack_bit(Unsupported::flex_dispatcher_across_nodes)) != 0) {
    layout.moe_token_dispatcher_type = MoeTokenDispatcherType::alltoall;
    layout.moe_flex_dispatcher_backend = Layout{}.moe_flex_dispatcher_backend;
  }
  return layout;
}

Cluster scaled_to(Cluster cluster, int gpus) {
  if (gpus < 1) throw InputError(fmt::format("{} devices: at least 1 is needed", gpus));
  const auto fill = node_fill(cluster, gpus);
  if (!fill) {
    const UnevenCount refusal = uneven_count(cluster, gpus);
    throw InputError(refusal.what, refusal.hint);
  }
  const int domain = cluster.domain_size();
  // NICs belong to devices or their trays.
  const int nics = static_cast<int>(std::int64_t{cluster.nics_per_node} * fill->gpus_per_node /
                                    cluster.gpus_per_node);
  cluster.nics_per_node = cluster.nics_per_node == 0 ? 0 : std::max(1, nics);
  cluster.gpus_per_node = fill->gpus_per_node;
  cluster.num_nodes = fill->num_nodes;
  cluster.gpus_per_island = std::min(cluster.gpus_per_island, fill->gpus_per_node);
  if (cluster.gpus_per_tray > 0)
    cluster.gpus_per_domain = domain > fill->gpus_per_node ? domain : 0;
  check_links(cluster);
  return cluster;
}

}  // namespace meshwright
