// SPDX-License-Identifier: Apache-2.0
// Where the two ends of a message sit: neighbouring stages of a pipeline, its two ends, or one hop
// of the ring that passes keys and values among context ranks.
//
// A hop has one sender, so it has one rail, whatever the size of its group. The hops that leave a
// node at the same time share its NICs.
#pragma once

#include <algorithm>

#include "sim/hardware/placement.h"

namespace meshwright {

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Blocks of `block` nodes that `nodes` nodes, `apart` from each other, lie in; block 0: one for
// all.
constexpr int blocks_of_nodes(int nodes, int apart, int block) {
  if (block == 0) return 1;
  return std::min(nodes, ceil_div(nodes * std::max(1, apart), block));
}

// The hop between neighbours along an axis of this size and stride that is furthest apart, because
// the slowest sets the pace. Every rank talks to its own partner at the same time.
Placement place_hop(int size, int stride, int world, const Cluster& cluster);

// Members of the context axis from one rank of a ring to the next: with a2a+p2p those of the
// all-to-all lie between.
constexpr int context_ring_step(const Layout& layout) {
  const bool below_all_to_all = layout.cp_comm_type == ContextParallelAlgorithm::a2a_p2p;
  return below_all_to_all ? std::max(1, layout.hierarchical_context_parallel_size) : 1;
}
Placement place_context_hop(const Layout& layout, const Cluster& cluster);

}  // namespace meshwright
