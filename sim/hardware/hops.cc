// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/hops.h"

namespace meshwright {

Placement place_hop(int size, int stride, int world, const Cluster& cluster) {
  if (size <= 1) return {};
  const int node = cluster.gpus_per_node, whole = size * stride;
  Placement p{2, 2, 1, std::max(1, stride)};
  const int island = cluster.gpus_per_island;
  p.in_island = island > 0 && island % whole == 0;
  if (node % whole == 0 || world <= node) return p;
  // The pairs of a border are neighbours, so they crowd on the same rails: counted as if every rail
  // were as crowded.
  const int pairs = std::min(stride, node), rails = cluster.num_rails();
  p = {2, 1, 2, std::max(pairs, rails * std::min(pairs, ceil_div(node, rails)))};
  p.num_leaves = blocks_of_nodes(2, stride / node, cluster.nodes_per_leaf);
  p.num_pods = blocks_of_nodes(2, stride / node, cluster.nodes_per_pod);
  return p;
}

Placement place_context_hop(const Layout& layout, const Cluster& cluster) {
  int stride = context_ring_step(layout);
  const int size = layout.context_parallel_size / stride;
  for (const Axis inner : layout.rank_order) {
    if (inner == Axis::context) break;
    stride *= axis_size(layout, inner);
  }
  return place_hop(size, stride, world_size(layout), cluster);
}

}  // namespace meshwright
