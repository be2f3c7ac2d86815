// SPDX-License-Identifier: Apache-2.0
// The groups that collectives are measured over: every way in which a layout's groups may sit.
//
// Inside a node, one rank a node, and several ranks of several nodes; each with one group alone and
// with as many at once as the nodes hold, for those share links and NICs. On request also groups of
// ranks that are no neighbours, as data ranks beside tensor ranks are: where pairs have wires of
// their own (NVLink bridges), those go another way. Pure.
#pragma once

#include <string>
#include <vector>

#include "sim/hardware/placement.h"

namespace meshwright::calibrate {

// Where each rank of the job sits: the number of its node, nodes numbered by first appearance.
std::vector<int> node_numbers(const std::vector<std::string>& host_of_rank);
// Number of each rank among those of its node.
std::vector<int> local_numbers(const std::vector<int>& node_of_rank);

struct GroupShape {
  Placement placement;
  std::vector<int> color_of_rank;  // ranks of one colour are a group; -1: that rank waits
  int stride = 1;                  // from one rank of a group to the next, inside a node
};

// Group sizes inside a node: powers of two and what divides its ranks. Nodes: powers of two and all
// of them. A node's ranks beyond those of the smallest node wait.
// `strided`: after those the groups of one node whose ranks lie as far apart as they can.
std::vector<GroupShape> group_shapes(const std::vector<int>& node_of_rank, bool strided = false);

}  // namespace meshwright::calibrate
