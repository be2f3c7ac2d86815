// SPDX-License-Identifier: Apache-2.0
// What each axis of a layout gets of a cluster for large messages: by the closed form that
// estimates use, and by max-min fair shares over the graph, with the wire that stops it.
#pragma once

#include <vector>

#include "sim/hardware/placement.h"
#include "sim/hardware/traffic.h"
#include "sim/layout/layout.h"

namespace meshwright {

struct WireUse {
  WireKind kind = WireKind::node;
  int wires = 0;  // number of links of this kind that the axis uses
  // Load of the most used link's busier direction, as a share of the sustained bandwidth.
  double most_used = 0.0;
};

struct GroupLoad {
  Group group = Group::tensor;
  Collective collective = Collective::all_gather;  // a ring; all-to-all of experts; send of stages
  int num_groups = 1;
  Placement placement;
  // Bus bandwidth of the slowest group.
  BytesPerSecond closed_form;   // rate that an estimate uses
  BytesPerSecond random_order;  // the same with nodes in random order over the leaf switches
  BytesPerSecond alone;         // one group, nothing else
  BytesPerSecond together;      // all groups of the axis
  BytesPerSecond with_others;   // all groups of all axes at once
  std::vector<WireUse> wires;   // together; widest use first
};

// The axes of the layout that have more than one rank.
std::vector<GroupLoad> group_loads(const Topology& topology, const Layout& layout,
                                   const Cluster& cluster);

}  // namespace meshwright
