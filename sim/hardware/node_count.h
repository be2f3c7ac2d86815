// SPDX-License-Identifier: Apache-2.0
// Which GPU counts a cluster's nodes can make up, and how each of them is used.
//
// A node with compute trays (an NVL72 rack) is one NVLink domain that jobs fill in part: 256 GPUs
// are 64 of 72 in four domains. The rule: the least number of domains that the count fills evenly
// with whole trays, none below half. A thinner spread is a choice of the user's, not a default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/hardware/cluster.h"

namespace meshwright {

struct NodeFill {
  int gpus_per_node = 0, num_nodes = 0;
  bool operator==(const NodeFill&) const = default;
};

// Nothing where the count makes up no nodes: a part of one node, whole nodes, or domains as above.
std::optional<NodeFill> node_fill(const Cluster& cluster, std::int64_t gpus);

// The same, on nodes that the cluster has or that its network can add.
bool has_count(const Cluster& cluster, std::int64_t gpus);

struct UnevenCount {
  std::string what, hint;
};
// Why a count has no fill, and the nearest counts that have one.
UnevenCount uneven_count(const Cluster& cluster, int gpus);

// "64 of each NVLink domain's 72 GPUs are used."; empty: whole nodes, or a part of a host.
std::string used_share_text(const Cluster& cluster);

}  // namespace meshwright
