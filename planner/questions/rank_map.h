// SPDX-License-Identifier: Apache-2.0
// A layout drawn onto the machine: which axis stays inside a node and which crosses nodes, what
// each sends over which link, and the link that is busiest.
//
// Load of a link by an axis = bytes / rate / step, 0 to 1. Bytes: those that one rank of the
// busiest stage sends over the link in a step (sim/volume/crossing.h). Rate: inside a node the
// link's, across nodes the rank's share of the NICs. A group over several nodes loads both.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/hardware/placement.h"
#include "sim/step/estimate.h"

namespace meshwright::planner {

struct AxisPlace {
  Group group = Group::tensor;
  Tier tier = Tier::intra_node;  // of the link
  Placement placement;
  std::string link;          // its name
  Bytes sent_per_step;       // over that link, by one rank of the busiest stage
  double share_of_step = 0;  // share of the step in which the transfer uses the link, 0 to 1
};

// A link with all groups that send over it.
struct LinkLoad {
  std::string link{};
  Tier tier = Tier::intra_node;
  double share_of_step = 0.0;         // sum over its groups, were nothing overlapped
  std::vector<std::string> groups{};  // their names, the most loaded first
};

// A rank's place along an axis, from 0: tensor, context, data, pipeline.
struct RankPlace {
  int rank = 0;
  std::array<int, 4> coordinates{};
};
inline constexpr std::array kMappedAxes{Axis::tensor, Axis::context, Axis::data, Axis::pipeline};

struct RankMap {
  std::vector<AxisPlace> axes;  // groups and links that carry anything, most loaded first
  std::vector<std::vector<RankPlace>> nodes;  // the first few, and the last
  std::vector<int> node_numbers;
};

// The lowest-numbered axis varies fastest in the layout's rank_order; expert groups lie over data
// and context ranks and have no coordinate of their own.
RankPlace place_of(int rank, const Layout& layout);
RankMap rank_map(const Estimate& estimate, const Cluster& cluster);

// The busiest link first.
std::vector<LinkLoad> link_loads(const RankMap& map);

// Share of the step in which a group uses the link of a tier, 0 to 1.
double axis_share(const RankMap& map, std::string_view group, Tier tier);
std::string_view tier_words(Tier tier);  // "inside a node"

// "The busiest link is NVLink 4 (inside a node): sending keeps it busy for 12.2 % of the step ..."
std::string busiest_link_text(const RankMap& map);

// Lines for people: one an axis, one a node, and which link is busiest.
std::string rank_map_text(const RankMap& map, const Layout& layout, const Cluster& cluster);

}  // namespace meshwright::planner
