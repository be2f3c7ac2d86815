// SPDX-License-Identifier: Apache-2.0
// Nodes of eight devices whose links give all they have: 400 GB/s inside, 50 GB/s between.
#pragma once

#include "sim/hardware/cluster.h"

namespace meshwright {

inline Cluster nodes_of_eight(int nodes) {
  Cluster c;
  c.gpus_per_node = 8;
  c.num_nodes = nodes;
  c.intra_node.bandwidth = gigabytes_per_second(400);
  c.intra_node.bandwidth_fraction = 1.0;
  c.inter_node.bandwidth = gigabytes_per_second(50);
  c.inter_node.bandwidth_fraction = 1.0;
  return c;
}

}  // namespace meshwright
