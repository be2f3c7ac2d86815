// SPDX-License-Identifier: Apache-2.0
// Where the ranks of one group sit: how many share a node, and how many nodes the group spans.
//
// Ranks are numbered with the layout's rank_order, innermost axis fastest, and fill nodes in order
// (Megatron parallel_state.py). A group along an axis of size n and stride s (the product of the
// sizes of the axes inside it) has its ranks s apart. Any order of the axes is placed; the same
// ranks carry a second mesh for experts (expert-tensor, expert, its own data axis, no context
// axis).
#pragma once

#include <vector>

#include "sim/base/enum_names.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"

namespace meshwright {

struct Placement {
  int group_size = 1;
  int ranks_per_node = 1;   // members of the group that share a node (the most crowded node)
  int num_nodes = 1;        // nodes that the group touches
  int groups_per_node = 1;  // groups of this axis active at once that share a node's NICs
  int fewest_per_node = 0;  // members on the emptiest node: what a ring is as wide as; 0: all alike
  int num_leaves = 1;       // leaf switches (of a rail) that the group's nodes hang on
  int num_pods = 1;         // sets of spine switches likewise
  bool in_island = false;   // every group of this axis lies inside one island
  bool operator==(const Placement&) const = default;
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
inline constexpr std::array kGroupNames{EnumName{Group::tensor, "tensor"},
                                        EnumName{Group::context, "context"},
                                        EnumName{Group::data, "data"},
                                        EnumName{Group::pipeline, "pipeline"},
                                        EnumName{Group::expert, "expert"},
                                        EnumName{Group::expert_tensor, "expert_tensor"},
                                        EnumName{Group::expert_data, "expert_data"},
                                        EnumName{Group::embedding, "embedding"},
                                        EnumName{Group::model, "model"}};
constexpr std::string_view name_of(Group v) { return name_in(kGroupNames, v); }

// Where a rank sits on the dense mesh; ranks are numbered with the layout's rank_order.
struct Coordinates {
  int tensor = 0, context = 0, data = 0, pipeline = 0;
  bool operator==(const Coordinates&) const = default;
};
Coordinates coordinates(const Layout& layout, int rank);

// The ranks of every group of this axis, ascending; of a pipeline the pairs of neighbours, of the
// embedding the pairs of ends.
std::vector<std::vector<int>> group_ranks(Group group, const Layout& layout);

Placement place(Group group, const Layout& layout, const Cluster& cluster);

}  // namespace meshwright
