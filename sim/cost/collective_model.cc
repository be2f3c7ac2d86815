// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/collective_model.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/collective.h"

namespace meshwright {
namespace {

// A double binary tree moves data at this share of a ring (NCCL tuning.cc, 0.92 for Simple).
constexpr double kTreeBandwidth = 0.92;

int ring_steps(Collective collective, int group_size) {
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (group_size - 1);
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::broadcast:
      return group_size - 1;
    case Collective::all_to_all:  // all peers at once: log2 covers posting them
      return static_cast<int>(std::ceil(std::log2(group_size)));
    case Collective::send_recv:
      break;
  }
  return 1;
}

// The first step of a ring only reads and the last only writes; all-reduce passes the ring twice
// with one pair of ends.
double ring_ends(Collective collective, const Link& link, int group_size) {
  const double passes = collective == Collective::all_reduce ? 2.0 : 1.0;
  return 1.0 + link.ring_end_cost / (passes * group_size);
}

Seconds ramp(const Link& link, Bytes moved, int group_size) {
  if (link.ramp_latency.value() <= 0.0 || moved.value() <= 0.0) return {};
  const double depth = std::log2(group_size);
  return link.ramp_latency * depth * (moved / (moved + link.ramp_bytes * depth));
}

Seconds one_node(Collective collective, Bytes payload, int group_size, const Link& link) {
  const Bytes moved = payload * bus_factor(collective, group_size);
  const bool in_switch = collective == Collective::all_reduce &&
                         link.sharp_bandwidth_fraction > link.bandwidth_fraction &&
                         link.sharp_min_group > 0 && group_size >= link.sharp_min_group;
  const double fraction = in_switch ? link.sharp_bandwidth_fraction : link.bandwidth_fraction;
  return link.base_latency + link.latency * ring_steps(collective, group_size) +
         moved / (link.bandwidth * fraction) *
             (in_switch ? 1.0 : ring_ends(collective, link, group_size)) +
         ramp(link, moved, group_size);
}

// All-to-all: what leaves a node shares its NICs, the rest stays on the node's links meanwhile.
Seconds all_to_all_bytes(Bytes payload, const Placement& p, const Cluster& cluster) {
  const double n = p.group_size, here = p.ranks_per_node;
  const Bytes leaving = payload * here * ((n - here) / n);
  const Bytes staying = payload * ((here - 1.0) / n);
  const BytesPerSecond nics = nic_share(p, cluster) * cluster.inter_node.bandwidth_fraction;
  return std::max(leaving / nics,
                  staying / (cluster.intra_node.bandwidth * cluster.intra_node.bandwidth_fraction));
}

// Rings over all nodes: as wide as the narrower of links and NICs.
BytesPerSecond ring_bandwidth(const Placement& p, const Cluster& cluster) {
  const Link &inside = cluster.intra_node, &across = cluster.inter_node;
  const BytesPerSecond nics = nic_share(p, cluster) * across.bandwidth_fraction;
  if (p.ranks_per_node == 1) return nics;
  return std::min(nics, inside.bandwidth * inside.bandwidth_fraction);
}

Seconds ring_time(Collective collective, Bytes moved, const Placement& p, const Cluster& cluster) {
  const int steps = ring_steps(collective, p.group_size);
  const int across = std::min(steps, ring_steps(collective, p.num_nodes));
  return cluster.inter_node.latency * across + cluster.intra_node.latency * (steps - across) +
         moved / ring_bandwidth(p, cluster);
}

// Up and down a tree over the nodes, chains inside them (all-reduce only).
Seconds tree_time(Bytes moved, const Placement& p, const Cluster& cluster) {
  const double depth = std::ceil(std::log2(p.num_nodes));
  return cluster.inter_node.latency * (2.0 * depth) +
         cluster.intra_node.latency * (2.0 * (p.ranks_per_node - 1)) +
         moved / (ring_bandwidth(p, cluster) * kTreeBandwidth);
}

Seconds many_nodes(Collective collective, Bytes payload, const Placement& p,
                   const Cluster& cluster) {
  const Link& link = cluster.inter_node;
  const Bytes moved = payload * bus_factor(collective, p.group_size);
  const Seconds start = link.base_latency + ramp(link, moved, p.num_nodes);
  if (collective == Collective::all_to_all) {
    return start + link.latency * ring_steps(collective, p.num_nodes) +
           all_to_all_bytes(payload, p, cluster);
  }
  const Seconds ring = ring_time(collective, moved, p, cluster);
  if (collective != Collective::all_reduce) return start + ring;
  return start + std::min(ring, tree_time(moved, p, cluster));
}

}  // namespace

BytesPerSecond nic_share(const Placement& p, const Cluster& cluster) {
  const int nics = cluster.nics_per_node == 0 ? cluster.gpus_per_node : cluster.nics_per_node;
  const BytesPerSecond node = cluster.inter_node.bandwidth * cluster.gpus_per_node;
  const BytesPerSecond reach = node / nics * std::min(p.ranks_per_node, nics);
  const BytesPerSecond share = node / std::max(1, p.groups_per_node);
  const bool spine = p.num_nodes > cluster.nodes_per_leaf;
  return std::min(reach, share) / (spine ? std::max(1.0, cluster.spine_oversubscription) : 1.0);
}

Seconds collective_model_time(Collective collective, Bytes payload, const Placement& placement,
                              const Cluster& cluster) {
  if (placement.group_size <= 1 || payload.value() <= 0.0) return {};
  if (placement.tier() == Tier::intra_node) {
    return one_node(collective, payload, placement.group_size, cluster.intra_node);
  }
  return many_nodes(collective, payload, placement, cluster);
}

}  // namespace meshwright
