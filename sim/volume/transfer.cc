// SPDX-License-Identifier: Apache-2.0
#include "sim/volume/transfer.h"

#include <algorithm>

#include "sim/hardware/hops.h"
#include "sim/volume/dispatch.h"

namespace meshwright {
namespace {

// Fewer nodes of the group lie below fewer switches.
void keep_switches(Placement& part, int nodes_before) {
  part.fewest_per_node = std::min(part.fewest_per_node, part.ranks_per_node);
  part.num_leaves = ceil_div(part.num_leaves * part.num_nodes, nodes_before);
  part.num_pods = ceil_div(part.num_pods * part.num_nodes, nodes_before);
}

Placement neighbours(Placement whole, int size) {
  const int nodes_before = whole.num_nodes;
  whole.ranks_per_node = std::min(whole.ranks_per_node, size);
  whole.num_nodes = ceil_div(size, whole.ranks_per_node);
  whole.group_size = size;
  keep_switches(whole, nodes_before);
  return whole;
}

Placement every_nth(Placement whole, int size) {
  const int nodes_before = whole.num_nodes;
  const int stride = whole.group_size / size;
  const int together = std::max(1, whole.ranks_per_node / stride);
  // The ranks between two members belong to other copies, whose sums cross at the same time.
  whole.groups_per_node *= std::max(1, whole.ranks_per_node / together);
  whole.ranks_per_node = std::min(together, size);
  whole.num_nodes = ceil_div(size, whole.ranks_per_node);
  whole.group_size = size;
  keep_switches(whole, nodes_before);
  return whole;
}

bool of_data_ranks(const Transfer& transfer) {
  return transfer.group == Group::data || transfer.group == Group::expert_data;
}

}  // namespace

Placement place(const Transfer& transfer, const Layout& layout, const Cluster& cluster) {
  if (transfer.group == Group::context && transfer.collective == Collective::send_recv) {
    return place_context_hop(layout, cluster);
  }
  const Placement whole = place(transfer.group, layout, cluster);
  if (transfer.group_size >= whole.group_size) return whole;
  // Only the sum between a shard's copies goes across: an all-reduce of a sharded gradient.
  const bool across = of_data_ranks(transfer) && transfer.collective == Collective::all_reduce;
  return across ? every_nth(whole, transfer.group_size) : neighbours(whole, transfer.group_size);
}

Cost transfer_cost(const Transfer& transfer, const Layout& layout, const Cluster& cluster) {
  Placement placement = place(transfer, layout, cluster);
  const int rails = cluster.framework.data_parallel.rails_per_collective;
  if (rails > 0 && of_data_ranks(transfer)) {
    const int members =
        placement.fewest_per_node > 0 ? placement.fewest_per_node : placement.ranks_per_node;
    placement.fewest_per_node = std::min(members, rails);
  }
  Cost cost = transfer.routing.topk > 0
                  ? dispatch_cost(transfer.payload, transfer.routing,
                                  layout.moe_flex_dispatcher_backend, placement, cluster)
                  : collective_cost(transfer.collective, transfer.payload, placement, cluster);
  cost.time *= transfer.times_per_step * cluster.collective_time_factor();
  return cost;
}

}  // namespace meshwright
