// SPDX-License-Identifier: Apache-2.0
#include "sim/collective/group_load.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "sim/collective/collective.h"
#include "sim/collective/collective_model.h"
#include "sim/hardware/hops.h"

namespace meshwright {
namespace {

bool passes_around(Group group, const Layout& layout) {
  return group == Group::context && (layout.cp_comm_type == ContextParallelAlgorithm::p2p ||
                                     layout.cp_comm_type == ContextParallelAlgorithm::a2a_p2p);
}

Collective collective_of(Group group, const Layout& layout) {
  if (group == Group::expert) return Collective::all_to_all;
  const bool sends = group == Group::pipeline || passes_around(group, layout);
  return sends ? Collective::send_recv : Collective::all_gather;
}

Placement placement_of(Group group, const Layout& layout, const Cluster& cluster) {
  return passes_around(group, layout) ? place_context_hop(layout, cluster)
                                      : place(group, layout, cluster);
}

// One step of the rings among `ranks`, each member to the one `apart` further on.
std::vector<std::pair<int, int>> hops_of(const std::vector<int>& ranks, const Layout& layout) {
  const std::size_t size = ranks.size(), apart = context_ring_step(layout);
  std::vector<std::pair<int, int>> hops;
  for (std::size_t i = 0; i < size; ++i) hops.emplace_back(ranks[i], ranks[(i + apart) % size]);
  return hops;
}

std::vector<Traffic> traffic_of(const Topology& topology, Group group, const Layout& layout) {
  std::vector<Traffic> traffic;
  for (const std::vector<int>& ranks : group_ranks(group, layout)) {
    if (group == Group::pipeline) {
      traffic.push_back(send_traffic(topology, ranks[0], ranks[1]));
    } else if (passes_around(group, layout)) {
      for (const auto& [from, to] : hops_of(ranks, layout)) {
        traffic.push_back(send_traffic(topology, from, to));
      }
    } else if (group == Group::expert) {
      traffic.push_back(all_to_all_traffic(topology, ranks));
    } else {
      traffic.push_back(ring_traffic(topology, ranks));
    }
  }
  return traffic;
}

BytesPerSecond slowest(const Topology& topology, std::span<const Traffic> traffic,
                       std::size_t first, std::size_t count) {
  const std::vector<BytesPerSecond> rates = concurrent_bus_bandwidth(topology, traffic);
  BytesPerSecond least = bytes_per_second(std::numeric_limits<double>::infinity());
  for (std::size_t i = first; i < first + count; ++i) least = std::min(least, rates[i]);
  return least;
}

std::vector<WireUse> wires_of(const Topology& topology, std::span<const Traffic> traffic) {
  const std::vector<double> use = wire_use(topology, traffic);
  std::map<WireKind, WireUse> by_kind;
  for (std::size_t w = 0; 2 * w < use.size(); ++w) {
    const double busier = std::max(use[2 * w], use[2 * w + 1]);
    if (busier <= 0.0) continue;
    const WireKind kind = topology.wiring().wires[w].kind;
    WireUse& sum = by_kind[kind];
    sum.kind = kind;
    ++sum.wires;
    sum.most_used = std::max(sum.most_used, busier);
  }
  std::vector<WireUse> wires;
  // Among equally loaded kinds the outermost is named first: a PCIe link to a NIC is as fast as the
  // NIC.
  for (auto it = by_kind.rbegin(); it != by_kind.rend(); ++it) wires.push_back(it->second);
  std::stable_sort(wires.begin(), wires.end(), [](const WireUse& a, const WireUse& b) {
    return a.most_used > b.most_used + 1e-9;
  });
  return wires;
}

// The bus bandwidth of a payload that hides every latency.
BytesPerSecond plateau(Collective collective, const Placement& placement, const Cluster& cluster) {
  const Bytes payload = bytes(1e18);
  return payload * bus_factor(collective, placement.group_size) /
         collective_model_time(collective, payload, placement, cluster);
}

}  // namespace

std::vector<GroupLoad> group_loads(const Topology& topology, const Layout& layout,
                                   const Cluster& cluster) {
  std::vector<GroupLoad> loads;
  std::vector<std::vector<Traffic>> traffic;
  Cluster shuffled = cluster;
  shuffled.node_order = NodeOrder::random;
  for (const Group group : {Group::tensor, Group::context, Group::expert, Group::data,
                            Group::expert_data, Group::pipeline}) {
    const bool experts = group == Group::expert || group == Group::expert_data;
    if (experts && layout.expert_parallel_size == 1) continue;
    const Placement placement = placement_of(group, layout, cluster);
    if (placement.group_size == 1) continue;
    traffic.push_back(traffic_of(topology, group, layout));
    const std::vector<Traffic>& own = traffic.back();
    GroupLoad load;
    load.group = group;
    load.collective = collective_of(group, layout);
    load.num_groups = static_cast<int>(group_ranks(group, layout).size());
    const std::size_t streams = own.size() / static_cast<std::size_t>(load.num_groups);
    load.placement = placement;
    load.closed_form = plateau(load.collective, placement, cluster);
    load.random_order = plateau(load.collective, placement, shuffled);
    load.alone = slowest(topology, std::span(own).first(streams), 0, streams);
    load.together = slowest(topology, own, 0, own.size());
    load.wires = wires_of(topology, own);
    loads.push_back(load);
  }
  std::vector<Traffic> all;
  for (const auto& own : traffic) all.insert(all.end(), own.begin(), own.end());
  std::size_t first = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    loads[i].with_others = slowest(topology, all, first, traffic[i].size());
    first += traffic[i].size();
  }
  return loads;
}

}  // namespace meshwright
