// SPDX-License-Identifier: Apache-2.0
#include "sim/collective/custom_all_reduce.h"

#include <algorithm>

namespace meshwright {

std::optional<Cost> custom_all_reduce_cost(Bytes payload, const Placement& placement,
                                           const Cluster& cluster) {
  if (placement.tier() != Tier::intra_node) return std::nullopt;
  const Link& link = placement.in_island ? cluster.island : cluster.intra_node;
  const CustomAllReduce& c = link.custom_all_reduce;
  if (c.one_shot_fraction <= 0.0 || payload > c.max_payload) return std::nullopt;
  const double peers = placement.group_size - 1.0;
  const Seconds start = c.latency + c.peer_latency * peers;
  const Seconds one_shot = payload * peers / (link.bandwidth * c.one_shot_fraction);
  const Seconds two_shot =
      c.two_shot_latency + payload * bus_factor(Collective::all_reduce, placement.group_size) /
                               (link.bandwidth * c.two_shot_fraction);
  return Cost{start + std::min(one_shot, two_shot), c.relative_spread, c.provenance};
}

Cost serving_all_reduce_cost(Bytes payload, const Placement& placement, const Cluster& cluster) {
  const Cost library = collective_cost(Collective::all_reduce, payload, placement, cluster);
  const std::optional<Cost> custom = custom_all_reduce_cost(payload, placement, cluster);
  return custom && custom->time < library.time ? *custom : library;
}

}  // namespace meshwright
