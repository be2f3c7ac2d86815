// SPDX-License-Identifier: Apache-2.0
// Where the ranks of one group sit: how many share a node, and how many nodes the group spans.
//
// Ranks are numbered with the layout's rank_order, innermost axis fastest, and fill nodes in order
// (Megatron parallel_state.py). A group along an axis of size n and stride s (the product of the
// sizes of the axes inside it) has its ranks s apart.
#pragma once

#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"

namespace meshwright {

struct Placement {
  int group_size = 1;
  int ranks_per_node = 1;   // members of the group that share a node (the most crowded node)
  int num_nodes = 1;        // nodes that the group touches
  int groups_per_node = 1;  // groups of this axis active at once that share a node's NICs
  [[nodiscard]] Tier tier() const {
    return group_size == 1 ? Tier::self : num_nodes == 1 ? Tier::intra_node : Tier::inter_node;
  }
};

enum class Group {
  tensor,
  context,
  data,      // gradients: data x context ranks
  pipeline,  // neighbours of a pipeline; group_size 2
  expert,    // all-to-all of tokens
  expert_tensor,
  expert_data,  // gradients of expert parameters
  embedding,    // first and last stage of a pipeline; group_size 2
  model,        // tensor x pipeline: norms and flags
};

Placement place(Group group, const Layout& layout, const Cluster& cluster);

}  // namespace meshwright
