// SPDX-License-Identifier: Apache-2.0
#include "sim/collective/collective_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "sim/collective/collective.h"
#include "sim/collective/nccl_tuning.h"

namespace meshwright {
namespace {

// One of NCCL's protocols between nodes: a step's latency as a share of Simple's, and bandwidth as
// a share of the ring's. Rings use no LL128 here: published multi-node rings show Simple's latency
// down to 16 MiB (SimAI's tables).
struct Protocol {
  double network_latency = 1.0;
  double bandwidth = 1.0;
  bool flags_in_line = false;  // LL, LL128: a hop inside costs the link's latency
  bool is_ll = false;          // has a ceiling of its own
};
constexpr double share_of_simple(double step) { return step / nccl::kRingSteps.simple; }
constexpr Protocol kRingProtocols[] = {
    {share_of_simple(nccl::kRingSteps.ll), nccl::kRingLlShare, true, true}, {}};
// With one rank a node a ring's steps cost what a tree's do.
constexpr Protocol kThinRingProtocols[] = {
    {share_of_simple(nccl::kTreeSteps.ll), nccl::kRingLlShare, true, true}, {}};
constexpr Protocol kTreeProtocols[] = {
    {share_of_simple(nccl::kTreeSteps.ll), nccl::kTreeLlShare, true, true},
    {share_of_simple(nccl::kTreeSteps.ll128), nccl::kTreeLl128Share, true},
    {1.0, nccl::kTreeShare}};

// The protocols are NCCL's; what joins the cores of machines has one, the last.
std::span<const Protocol> protocols_of(std::span<const Protocol> all, const Cluster& cluster) {
  return cluster.node_fabric == NodeFabric::shared_memory ? all.last(1) : all;
}

// What a protocol carries of a ring's rate over so many nodes.
BytesPerSecond carried(const Protocol& protocol, BytesPerSecond ring, int nodes) {
  const BytesPerSecond share = ring * protocol.bandwidth;
  return protocol.is_ll ? std::min(share, gigabytes_per_second(nccl::most_of_ll(nodes))) : share;
}

Seconds inside_hop(const Protocol& protocol, const Cluster& cluster) {
  const Seconds stated = cluster.intra_node.latency;
  if (protocol.flags_in_line || !cluster.nics_beside_fabric()) return stated;
  return std::max(stated, microseconds(nccl::kSimpleNvlinkHopUs));
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

// One call, as the algorithms see it.
struct Call {
  Collective collective;
  Bytes payload;
  const Placement& placement;
  const Cluster& cluster;
  [[nodiscard]] bool in_node() const { return placement.tier() == Tier::intra_node; }
  [[nodiscard]] const Link& link() const {
    if (!in_node()) return cluster.inter_node;
    return placement.in_island ? cluster.island : cluster.intra_node;
  }
  [[nodiscard]] BytesPerSecond link_bandwidth() const {
    const bool node = in_node() && !placement.in_island;
    return node ? cluster.node_bandwidth(placement.group_size) : link().bandwidth;
  }
  [[nodiscard]] Bytes moved() const {
    return payload * bus_factor(collective, placement.group_size);
  }
};

// In a node: latency of each step, and bytes at a share of the link that takes `longer` to fill.
Seconds in_node_time(const Call& call, double fraction, double longer) {
  const Link& link = call.link();
  const int n = call.placement.group_size;
  return link.base_latency + link.latency * ring_steps(call.collective, n) +
         call.moved() / (call.link_bandwidth() * fraction) * longer + ramp(link, call.moved(), n);
}

Seconds in_node_ring_time(const Call& call) {
  const Link& link = call.link();
  return in_node_time(call, link.bandwidth_fraction,
                      ring_ends(call.collective, link, call.placement.group_size));
}

bool reduces_in_switch(const Call& call) {
  const Link& link = call.link();
  return call.in_node() && call.collective == Collective::all_reduce &&
         link.sharp_bandwidth_fraction > link.bandwidth_fraction && link.sharp_min_group > 0 &&
         call.placement.group_size >= link.sharp_min_group;
}
Seconds in_switch_time(const Call& call) {
  return in_node_time(call, call.link().sharp_bandwidth_fraction, 1.0);
}

// NICs and the PCIe links to them, as far as this group gets at them.
BytesPerSecond sustained_nics(Collective collective, const Placement& p, const Cluster& cluster) {
  const BytesPerSecond nics =
      nic_share(collective, p, cluster) * cluster.inter_node.bandwidth_fraction;
  const BytesPerSecond host = only_device(cluster).host_link;
  if (!cluster.nics_beside_fabric() || host.value() <= 0.0) return nics;
  const int members = p.fewest_per_node > 0 ? p.fewest_per_node : p.ranks_per_node;
  return std::min(nics, host * members);
}

// Traffic that leaves a node shares its NICs. The rest stays on the node's links at the same time.
Seconds direct_time(const Call& call) {
  const Placement& p = call.placement;
  const Link& link = call.link();
  const Link& inside = call.cluster.intra_node;
  const double n = p.group_size, here = p.ranks_per_node;
  const Bytes leaving = call.payload * here * ((n - here) / n);
  const Bytes staying = call.payload * ((here - 1.0) / n);
  const BytesPerSecond nics = sustained_nics(Collective::all_to_all, p, call.cluster);
  return link.base_latency + ramp(link, call.moved(), p.num_nodes) +
         link.latency * ring_steps(call.collective, p.num_nodes) +
         std::max(leaving / nics, staying / (call.cluster.node_bandwidth(p.ranks_per_node) *
                                             inside.bandwidth_fraction));
}

// Rings over all nodes: as wide as the narrower of links and NICs.
BytesPerSecond ring_bandwidth(Collective collective, const Placement& p, const Cluster& cluster) {
  const BytesPerSecond nics = sustained_nics(collective, p, cluster);
  if (p.ranks_per_node == 1) return nics;
  return std::min(nics,
                  cluster.node_bandwidth(p.ranks_per_node) * cluster.intra_node.bandwidth_fraction);
}

Seconds ring_time(const Call& call) {
  const Placement& p = call.placement;
  const Cluster& cluster = call.cluster;
  const Bytes moved = call.moved();
  const int steps = ring_steps(call.collective, p.group_size);
  const int across = std::min(steps, ring_steps(call.collective, p.num_nodes));
  const BytesPerSecond bandwidth = ring_bandwidth(call.collective, p, cluster);
  Seconds best = seconds(std::numeric_limits<double>::infinity());
  const std::span<const Protocol> protocols =
      p.ranks_per_node == 1 ? std::span(kThinRingProtocols) : std::span(kRingProtocols);
  for (const Protocol& protocol : protocols_of(protocols, cluster)) {
    best = std::min(best, cluster.inter_node.latency * (protocol.network_latency * across) +
                              inside_hop(protocol, cluster) * (steps - across) +
                              moved / carried(protocol, bandwidth, p.num_nodes));
  }
  best = cluster.inter_node.base_latency + best;
  // A single message has no ring that keeps its pipeline full.
  if (call.collective != Collective::send_recv) return best;
  return best + ramp(cluster.inter_node, moved, p.num_nodes);
}

// Up and down a tree over the nodes, chains inside them. Medium messages leave the tree's pipeline
// partly empty.
Seconds tree_time(const Call& call) {
  const Placement& p = call.placement;
  const Cluster& cluster = call.cluster;
  const Bytes moved = call.moved();
  const double depth = std::ceil(std::log2(p.num_nodes));
  const BytesPerSecond bandwidth = ring_bandwidth(Collective::all_reduce, p, cluster);
  Seconds best = seconds(std::numeric_limits<double>::infinity());
  for (const Protocol& protocol : protocols_of(kTreeProtocols, cluster)) {
    best = std::min(best, cluster.inter_node.latency * (2.0 * depth * protocol.network_latency) +
                              inside_hop(protocol, cluster) * (2.0 * (p.ranks_per_node - 1)) +
                              moved / carried(protocol, bandwidth, p.num_nodes));
  }
  return cluster.inter_node.base_latency + (best + ramp(cluster.inter_node, moved, p.num_nodes));
}

// PAT: all ranks send to those 1, 2, 4, ... further on, with one rank a node.
bool passes_pat(const Call& call) {
  const bool shards =
      call.collective == Collective::all_gather || call.collective == Collective::reduce_scatter;
  return shards && !call.in_node() && call.placement.ranks_per_node == 1 &&
         call.cluster.node_fabric != NodeFabric::shared_memory;
}
Seconds pat_time(const Call& call) {
  const Placement& p = call.placement;
  const Link& link = call.cluster.inter_node;
  const BytesPerSecond bandwidth = ring_bandwidth(call.collective, p, call.cluster);
  return link.base_latency + link.latency * (nccl::kPatStep * std::floor(std::log2(p.num_nodes))) +
         microseconds(nccl::kPatRankUs * p.group_size) +
         call.moved() / (bandwidth * nccl::kPatShare);
}

bool passes_rings(Collective collective) {
  return collective != Collective::all_to_all && collective != Collective::send_recv;
}

// The fastest of those that apply runs, as NCCL chooses. Names are NCCL's words.
struct Algorithm {
  std::string_view name;
  bool (*applies)(const Call&);
  Seconds (*time)(const Call&);
};
constexpr Algorithm kAlgorithms[] = {
    {"ring", [](const Call& call) { return call.in_node() && passes_rings(call.collective); },
     in_node_ring_time},
    {"point-to-point",
     [](const Call& call) { return call.in_node() && !passes_rings(call.collective); },
     in_node_ring_time},
    {"NVLS", reduces_in_switch, in_switch_time},
    {"ring", [](const Call& call) { return !call.in_node() && passes_rings(call.collective); },
     ring_time},
    {"point-to-point",
     [](const Call& call) { return !call.in_node() && call.collective == Collective::send_recv; },
     ring_time},
    {"PAT", passes_pat, pat_time},
    {"tree",
     [](const Call& call) { return !call.in_node() && call.collective == Collective::all_reduce; },
     tree_time},
    {"point-to-point",
     [](const Call& call) { return !call.in_node() && call.collective == Collective::all_to_all; },
     direct_time},
};

// Share of the traffic between nodes that also leaves the node's block of switches, 0 to 1.
// `blocks`: blocks that the group touches. `below`: nodes of one block, 0: all. Two nodes in random
// order lie in different blocks with a probability of (all - below) / (all - 1).
double leaving_share(Collective collective, const Placement& p, int blocks, int below,
                     const Cluster& cluster) {
  if (cluster.node_order == NodeOrder::random) {
    const double all = cluster.num_nodes;
    return below == 0 || below >= all ? 0.0 : (all - below) / (all - 1.0);
  }
  if (blocks <= 1) return 0.0;
  const double n = p.num_nodes, b = std::min(blocks, p.num_nodes);
  return collective == Collective::all_to_all ? (n - n / b) / (n - 1.0) : b / n;
}

// A node of 16 devices and more holds two of half its size, whose NICs it has: it is never slower
// than they are. In-node rates are those of up to 8 devices, whose steps add up in larger groups.
constexpr int kHoldsSmallerNodes = 16;
bool holds_smaller_nodes(const Placement& p, const Cluster& cluster) {
  return cluster.gpus_per_node >= kHoldsSmallerNodes && p.ranks_per_node % 2 == 0 &&
         cluster.node_fabric == NodeFabric::nvswitch && cluster.inter_node.bandwidth.value() > 0.0;
}
Placement on_half_nodes(Placement p) {
  p.ranks_per_node /= 2;
  p.fewest_per_node = std::max(1, p.fewest_per_node / 2);
  p.num_nodes *= 2;
  p.groups_per_node *= 2;
  return p;
}

struct Fastest {
  Seconds time = seconds(std::numeric_limits<double>::infinity());
  std::string_view algorithm{};
};
Fastest fastest(const Call& call) {
  Fastest best;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (!algorithm.applies(call)) continue;
    const Seconds time = algorithm.time(call);
    if (time < best.time) best = {time, algorithm.name};
  }
  if (!holds_smaller_nodes(call.placement, call.cluster)) return best;
  const Placement half = on_half_nodes(call.placement);
  const Fastest smaller = fastest({call.collective, call.payload, half, call.cluster});
  return smaller.time < best.time ? smaller : best;
}

bool moves_nothing(Bytes payload, const Placement& placement) {
  return placement.group_size <= 1 || payload.value() <= 0.0;
}

}  // namespace

BytesPerSecond nic_share(Collective collective, const Placement& p, const Cluster& cluster) {
  const int members = p.fewest_per_node > 0 ? p.fewest_per_node : p.ranks_per_node;
  const BytesPerSecond reach = cluster.rail_bandwidth() * std::min(members, cluster.num_rails());
  const BytesPerSecond share =
      cluster.inter_node.bandwidth * cluster.gpus_per_node / std::max(1, p.groups_per_node);
  const double spine = std::max(1.0, cluster.spine_oversubscription);
  const double core = spine * std::max(1.0, cluster.core_oversubscription);
  const double narrowed = std::max(
      {1.0, spine * leaving_share(collective, p, p.num_leaves, cluster.nodes_per_leaf, cluster),
       core * leaving_share(collective, p, p.num_pods, cluster.nodes_per_pod, cluster)});
  // A rail's leaf has its own up-links; a node's leaf shares them among all its NICs.
  if (cluster.network == NetworkFabric::rail_optimised) return std::min(reach, share) / narrowed;
  return std::min(reach, share / narrowed);
}

Seconds collective_model_time(Collective collective, Bytes payload, const Placement& placement,
                              const Cluster& cluster) {
  if (moves_nothing(payload, placement)) return {};
  return fastest({collective, payload, placement, cluster}).time;
}

std::string_view collective_algorithm(Collective collective, Bytes payload,
                                      const Placement& placement, const Cluster& cluster) {
  if (moves_nothing(payload, placement)) return {};
  return fastest({collective, payload, placement, cluster}).algorithm;
}

}  // namespace meshwright
