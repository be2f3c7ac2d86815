// SPDX-License-Identifier: Apache-2.0
#include "sim/collective/collective_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "sim/collective/collective.h"

namespace meshwright {
namespace {

// NCCL's protocols between nodes: latency of a hop as a share of Simple's (the network's row of
// tuning.cc: ring 2.7, -, 14; tree 5, 8.5, 14 us) and bandwidth as a share of the ring's. LL's
// llMaxBw is a tenth of the plateau on Ampere and Hopper (19 of 192, 35 of 370 GB/s); a tree moves
// 0.92, with LL128 120 of 128 bytes of 0.85 of it. Rings use no LL128 here: published multi-node
// rings show Simple's latency down to 16 MiB (SimAI's tables).
struct Protocol {
  double network_latency = 1.0;
  bool flags_in_line =
      false;  // LL, LL128: no synchronisation; a hop inside costs the link's latency
  double bandwidth = 1.0;
};
constexpr Protocol kRingProtocols[] = {{2.7 / 14.0, true, 0.1}, {1.0, false, 1.0}};
constexpr Protocol kTreeProtocols[] = {
    {5.0 / 14.0, true, 0.1}, {8.5 / 14.0, true, 0.85 * 120.0 / 128.0}, {1.0, false, 0.92}};

// The protocols are NCCL's; what joins the cores of machines has one, the last.
std::span<const Protocol> protocols_of(std::span<const Protocol> all, const Cluster& cluster) {
  return cluster.node_fabric == NodeFabric::shared_memory ? all.last(1) : all;
}

// A hop over NVLink with the Simple protocol (tuning.cc); other links state their own.
constexpr double kSimpleNvlinkHop = 3.4e-6;

Seconds inside_hop(const Protocol& protocol, const Cluster& cluster) {
  const Seconds stated = cluster.intra_node.latency;
  if (protocol.flags_in_line || cluster.node_fabric != NodeFabric::nvswitch) return stated;
  return std::max(stated, seconds(kSimpleNvlinkHop));
}

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

// NICs and the PCIe links to them, as far as this group gets at them.
BytesPerSecond sustained_nics(Collective collective, const Placement& p, const Cluster& cluster) {
  const BytesPerSecond nics =
      nic_share(collective, p, cluster) * cluster.inter_node.bandwidth_fraction;
  const BytesPerSecond host = cluster.device.host_link;
  if (cluster.node_fabric != NodeFabric::nvswitch || host.value() <= 0.0) return nics;
  const int members = p.fewest_per_node > 0 ? p.fewest_per_node : p.ranks_per_node;
  return std::min(nics, host * members);
}

// All-to-all: what leaves a node shares its NICs, the rest stays on the node's links meanwhile.
Seconds all_to_all_bytes(Bytes payload, const Placement& p, const Cluster& cluster) {
  const double n = p.group_size, here = p.ranks_per_node;
  const Bytes leaving = payload * here * ((n - here) / n);
  const Bytes staying = payload * ((here - 1.0) / n);
  const BytesPerSecond nics = sustained_nics(Collective::all_to_all, p, cluster);
  return std::max(leaving / nics,
                  staying / (cluster.intra_node.bandwidth * cluster.intra_node.bandwidth_fraction));
}

// Rings over all nodes: as wide as the narrower of links and NICs.
BytesPerSecond ring_bandwidth(Collective collective, const Placement& p, const Cluster& cluster) {
  const Link& inside = cluster.intra_node;
  const BytesPerSecond nics = sustained_nics(collective, p, cluster);
  if (p.ranks_per_node == 1) return nics;
  return std::min(nics, inside.bandwidth * inside.bandwidth_fraction);
}

Seconds ring_time(Collective collective, Bytes moved, const Placement& p, const Cluster& cluster) {
  const int steps = ring_steps(collective, p.group_size);
  const int across = std::min(steps, ring_steps(collective, p.num_nodes));
  const BytesPerSecond bandwidth = ring_bandwidth(collective, p, cluster);
  Seconds best = seconds(std::numeric_limits<double>::infinity());
  for (const Protocol& protocol : protocols_of(kRingProtocols, cluster)) {
    best = std::min(best, cluster.inter_node.latency * (protocol.network_latency * across) +
                              inside_hop(protocol, cluster) * (steps - across) +
                              moved / (bandwidth * protocol.bandwidth));
  }
  return best;
}

// Up and down a tree over the nodes, chains inside them (all-reduce only). Medium messages leave
// the tree's pipeline partly empty.
Seconds tree_time(Bytes moved, const Placement& p, const Cluster& cluster) {
  const double depth = std::ceil(std::log2(p.num_nodes));
  const BytesPerSecond bandwidth = ring_bandwidth(Collective::all_reduce, p, cluster);
  Seconds best = seconds(std::numeric_limits<double>::infinity());
  for (const Protocol& protocol : protocols_of(kTreeProtocols, cluster)) {
    best = std::min(best, cluster.inter_node.latency * (2.0 * depth * protocol.network_latency) +
                              inside_hop(protocol, cluster) * (2.0 * (p.ranks_per_node - 1)) +
                              moved / (bandwidth * protocol.bandwidth));
  }
  return best + ramp(cluster.inter_node, moved, p.num_nodes);
}

Seconds many_nodes(Collective collective, Bytes payload, const Placement& p,
                   const Cluster& cluster) {
  const Link& link = cluster.inter_node;
  const Bytes moved = payload * bus_factor(collective, p.group_size);
  if (collective == Collective::all_to_all) {
    return link.base_latency + ramp(link, moved, p.num_nodes) +
           link.latency * ring_steps(collective, p.num_nodes) +
           all_to_all_bytes(payload, p, cluster);
  }
  const Seconds ring = link.base_latency + ring_time(collective, moved, p, cluster);
  if (collective == Collective::all_reduce) {
    return std::min(ring, link.base_latency + tree_time(moved, p, cluster));
  }
  // A single message has no ring that keeps its pipeline full.
  return collective == Collective::send_recv ? ring + ramp(link, moved, p.num_nodes) : ring;
}

// Of the traffic that leaves a node, the part that leaves the node's block of switches too.
double leaving_share(Collective collective, int nodes, int blocks) {
  if (blocks <= 1) return 0.0;
  const double n = nodes, b = std::min(blocks, nodes);
  return collective == Collective::all_to_all ? (n - n / b) / (n - 1.0) : b / n;
}

}  // namespace

BytesPerSecond nic_share(Collective collective, const Placement& p, const Cluster& cluster) {
  const int members = p.fewest_per_node > 0 ? p.fewest_per_node : p.ranks_per_node;
  const BytesPerSecond reach = cluster.rail_bandwidth() * std::min(members, cluster.num_rails());
  const BytesPerSecond share =
      cluster.inter_node.bandwidth * cluster.gpus_per_node / std::max(1, p.groups_per_node);
  const double spine = std::max(1.0, cluster.spine_oversubscription);
  const double core = spine * std::max(1.0, cluster.core_oversubscription);
  const double narrowed =
      std::max({1.0, spine * leaving_share(collective, p.num_nodes, p.num_leaves),
                core * leaving_share(collective, p.num_nodes, p.num_pods)});
  // A rail's leaf has its own up-links; a node's leaf shares them among all its NICs.
  if (cluster.network == NetworkFabric::rail_optimised) return std::min(reach, share) / narrowed;
  return std::min(reach, share / narrowed);
}

Seconds collective_model_time(Collective collective, Bytes payload, const Placement& placement,
                              const Cluster& cluster) {
  if (placement.group_size <= 1 || payload.value() <= 0.0) return {};
  if (placement.tier() == Tier::intra_node) {
    const Link& link = placement.in_island ? cluster.island : cluster.intra_node;
    return one_node(collective, payload, placement.group_size, link);
  }
  return many_nodes(collective, payload, placement, cluster);
}

}  // namespace meshwright
