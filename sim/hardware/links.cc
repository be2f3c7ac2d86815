// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/links.h"

#include <fmt/format.h>

#include "sim/base/error.h"

namespace meshwright {

void check_links(const Cluster& cluster) {
  if (cluster.num_nodes > 1 && cluster.inter_node.bandwidth.value() <= 0.0) {
    throw InputError(
        fmt::format("{} devices need several nodes, and cluster {} has no inter_node link",
                    cluster.num_gpus(), cluster.name),
        fmt::format("where it was not measured: meshwright calibrate --ranks {} --mpirun-args "
                    "\"--host A:{},B:{}\" on two nodes measures it",
                    2 * cluster.gpus_per_node, cluster.gpus_per_node, cluster.gpus_per_node));
  }
  if (cluster.gpus_per_node > 1 && cluster.intra_node.bandwidth.value() <= 0.0) {
    throw InputError(
        fmt::format("{} devices of a node need a link, and cluster {} has no intra_node link",
                    cluster.gpus_per_node, cluster.name),
        fmt::format("where it was not measured: meshwright calibrate --ranks {} measures it, with "
                    "more of --budget than before",
                    cluster.gpus_per_node));
  }
}

}  // namespace meshwright
