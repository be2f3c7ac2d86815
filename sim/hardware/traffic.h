// SPDX-License-Identifier: Apache-2.0
// Collectives as streams over the graph, and what each gets when all of them run at once.
//
// A ring over several nodes has one channel for each member that a node has (the emptiest node
// counts): channel c enters every node at member c, visits all members and leaves from the last, as
// NCCL builds its rings; so r members a node use r NICs. All channels of a ring carry the same, so
// its bus bandwidth is channels x rate. An all-to-all sends every member 1/(n - 1) of what a
// member sends.
#pragma once

#include <span>
#include <vector>

#include "sim/hardware/fair_share.h"
#include "sim/hardware/topology.h"

namespace meshwright {

struct Traffic {
  Stream stream;
  double channels = 1.0;  // bus bandwidth / rate
};

Traffic ring_traffic(const Topology& topology, std::span<const int> devices);
Traffic all_to_all_traffic(const Topology& topology, std::span<const int> devices);
Traffic send_traffic(const Topology& topology, int from, int to);

// Bus bandwidth (nccl-tests) of each when all run at once.
std::vector<BytesPerSecond> concurrent_bus_bandwidth(const Topology& topology,
                                                     std::span<const Traffic> traffic);

// Share of each directed wire that they take then, 0 to 1.
std::vector<double> wire_use(const Topology& topology, std::span<const Traffic> traffic);

}  // namespace meshwright
