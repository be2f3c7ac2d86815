// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/placement.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "sim/hardware/hops.h"

namespace meshwright {
namespace {

// Ranks first, first + stride, ... of one axis.
struct Dimension {
  int size = 1, stride = 1;
};
// At most two axes make a group.
using Dimensions = std::array<Dimension, 2>;

// Sizes of the axes in one of the two meshes over the same ranks (Megatron parallel_state.py: the
// expert mesh has etp, ep and its own data axis, and no context axis).
struct Mesh {
  int tensor = 1, context = 1, expert = 1, data = 1, pipeline = 1;
  [[nodiscard]] int size(Axis axis) const {
    switch (axis) {
      case Axis::tensor:
        return tensor;
      case Axis::context:
        return context;
      case Axis::expert:
        return expert;
      case Axis::data:
        return data;
      case Axis::pipeline:
        return pipeline;
    }
    return 1;
  }
};

Mesh dense_mesh(const Layout& l) {
  return {l.tensor_parallel_size, l.context_parallel_size, 1, l.data_parallel_size,
          l.pipeline_parallel_size};
}
Mesh expert_mesh(const Layout& l) {
  return {expert_tensor_size(l), 1, l.expert_parallel_size, expert_data_parallel_size(l),
          l.pipeline_parallel_size};
}

Dimension dimension(const Mesh& mesh, const Layout& layout, Axis axis) {
  int stride = 1;
  for (const Axis inner : layout.rank_order) {
    if (inner == axis) break;
    stride *= mesh.size(inner);
  }
  return {mesh.size(axis), stride};
}

// Two axes that continue each other are one longer axis.
Dimensions joined(Dimension a, Dimension b) {
  if (a.stride > b.stride) std::swap(a, b);
  if (a.size == 1) return {b, {}};
  if (b.size == 1) return {a, {}};
  if (a.size * a.stride == b.stride) return {Dimension{a.size * b.size, a.stride}, {}};
  return {a, b};
}

Dimensions dimensions(Group group, const Layout& l) {
  const Mesh dense = dense_mesh(l), expert = expert_mesh(l);
  switch (group) {
    case Group::tensor:
      return {dimension(dense, l, Axis::tensor), {}};
    case Group::context:
      return {dimension(dense, l, Axis::context), {}};
    case Group::data:
      return joined(dimension(dense, l, Axis::context), dimension(dense, l, Axis::data));
    case Group::model:
      return joined(dimension(dense, l, Axis::tensor), dimension(dense, l, Axis::pipeline));
    case Group::expert:
      return {dimension(expert, l, Axis::expert), {}};
    case Group::expert_tensor:
      return {dimension(expert, l, Axis::tensor), {}};
    case Group::expert_data:
      return {dimension(expert, l, Axis::data), {}};
    case Group::pipeline:
    case Group::embedding:
      return {dimension(dense, l, Axis::pipeline), {}};
  }
  return {};
}

bool is_pair(Group group) { return group == Group::pipeline || group == Group::embedding; }

// Every group of this axis sits alike when its span and the node divide each other.
bool aligned(Dimension d, const Cluster& cluster) {
  const int span = d.size * d.stride, node = cluster.gpus_per_node;
  const int island = cluster.gpus_per_island;
  if (island > 0 && span < node && span % island != 0 && island % span != 0) return false;
  if (d.stride % node == 0) return true;
  return node % d.stride == 0 && (span % node == 0 || node % span == 0);
}

Placement place_aligned(Dimension d, const Cluster& cluster, int world) {
  const int span = d.size * d.stride, node = cluster.gpus_per_node;
  Placement p;
  p.group_size = d.size;
  p.ranks_per_node = d.stride >= node ? 1 : std::min(d.size, node / d.stride);
  p.num_nodes = d.stride >= node ? d.size : ceil_div(span, node);
  p.groups_per_node = std::max(1, std::min(node, world) / p.ranks_per_node);
  p.fewest_per_node = p.ranks_per_node;
  p.num_leaves = blocks_of_nodes(p.num_nodes, d.stride / node, cluster.nodes_per_leaf);
  p.num_pods = blocks_of_nodes(p.num_nodes, d.stride / node, cluster.nodes_per_pod);
  p.in_island = cluster.gpus_per_island > 0 && span <= cluster.gpus_per_island;
  return p;
}

// Where one group's ranks lie.
Placement place_ranks(const std::vector<int>& ranks, const Cluster& cluster) {
  Placement p;
  p.group_size = static_cast<int>(ranks.size());
  p.ranks_per_node = p.num_nodes = p.num_leaves = p.num_pods = 0;
  p.fewest_per_node = p.group_size;
  p.in_island = cluster.gpus_per_island > 0;
  const auto block_of = [&](int node, int size) { return size == 0 ? 0 : node / size; };
  int leaf = -1, pod = -1;
  for (std::size_t i = 0; i < ranks.size();) {
    const int node = ranks[i] / cluster.gpus_per_node;
    int here = 0;
    for (; i < ranks.size() && ranks[i] / cluster.gpus_per_node == node; ++i) ++here;
    ++p.num_nodes;
    p.ranks_per_node = std::max(p.ranks_per_node, here);
    p.fewest_per_node = std::min(p.fewest_per_node, here);
    p.num_leaves += block_of(node, cluster.nodes_per_leaf) != leaf ? 1 : 0;
    p.num_pods += block_of(node, cluster.nodes_per_pod) != pod ? 1 : 0;
    leaf = block_of(node, cluster.nodes_per_leaf);
    pod = block_of(node, cluster.nodes_per_pod);
  }
  const int island = std::max(1, cluster.gpus_per_island), node = cluster.gpus_per_node;
  const bool same_island = ranks.front() % node / island == ranks.back() % node / island;
  p.in_island = p.in_island && p.num_nodes == 1 && same_island;
  return p;
}

// Any strides and node sizes: count. The group that touches the most nodes, with the fewest members
// on one of them, stands for all; NICs are shared by the groups that leave the node.
Placement counted(Group group, const Layout& layout, const Cluster& cluster) {
  Placement worst;
  worst.in_island = true;
  std::vector<int> leaving(
      static_cast<std::size_t>(ceil_div(world_size(layout), cluster.gpus_per_node)));
  for (const std::vector<int>& ranks : group_ranks(group, layout)) {
    const Placement p = place_ranks(ranks, cluster);
    const bool all_in_islands = worst.in_island && p.in_island;
    const bool worse = p.num_nodes > worst.num_nodes ||
                       (p.num_nodes == worst.num_nodes &&
                        (worst.group_size == 1 || p.fewest_per_node < worst.fewest_per_node));
    if (worse) worst = p;
    worst.in_island = all_in_islands;
    int last = -1;
    for (const int rank : ranks) {
      const int node = rank / cluster.gpus_per_node;
      if (p.num_nodes > 1 && node != last) ++leaving[static_cast<std::size_t>(node)];
      last = node;
    }
  }
  worst.groups_per_node = std::max(1, *std::max_element(leaving.begin(), leaving.end()));
  return worst;
}

// A search asks for the same few placements again and again; counting looks at every rank. No pairs
// come here, so that sizes and strides say all of the group.
Placement place_counted(Group group, const Dimensions& d, const Layout& layout,
                        const Cluster& cluster) {
  constexpr std::size_t kMost = 10'000;
  const std::array<int, 9> key{d[0].size,
                               d[0].stride,
                               d[1].size,
                               d[1].stride,
                               world_size(layout),
                               cluster.gpus_per_node,
                               cluster.gpus_per_island,
                               cluster.nodes_per_leaf,
                               cluster.nodes_per_pod};
  thread_local std::map<std::array<int, 9>, Placement> known;
  if (known.size() == kMost) known.clear();
  const auto [found, is_new] = known.try_emplace(key);
  if (is_new) found->second = counted(group, layout, cluster);
  return found->second;
}

std::vector<int> ranks_from(int first, const Dimensions& d) {
  std::vector<int> ranks;
  for (int j = 0; j < d[1].size; ++j) {
    for (int i = 0; i < d[0].size; ++i) {
      ranks.push_back(first + i * d[0].stride + j * d[1].stride);
    }
  }
  return ranks;
}

// An aligned axis and one that strides over whole nodes: every group sits as the first one does.
bool strides_over_nodes(const Dimensions& d, const Cluster& cluster) {
  return d[1].size > 1 && d[1].stride % cluster.gpus_per_node == 0 && aligned(d[0], cluster);
}

Placement place_like_first(const Dimensions& d, const Cluster& cluster) {
  Placement p = place_ranks(ranks_from(0, d), cluster);
  p.groups_per_node = cluster.gpus_per_node / p.ranks_per_node;
  return p;
}

}  // namespace

Coordinates coordinates(const Layout& layout, int rank) {
  std::array<int, 5> along{};
  for (const Axis axis : layout.rank_order) {
    const int size = axis_size(layout, axis);
    along[static_cast<std::size_t>(axis)] = rank % size;
    rank /= size;
  }
  const auto at = [&](Axis axis) { return along[static_cast<std::size_t>(axis)]; };
  return {at(Axis::tensor), at(Axis::context), at(Axis::data), at(Axis::pipeline)};
}

std::vector<std::vector<int>> group_ranks(Group group, const Layout& layout) {
  const Dimensions d = dimensions(group, layout);
  std::vector<std::vector<int>> groups;
  for (int first = 0; first < world_size(layout); ++first) {
    const bool starts_a_group =
        first / d[0].stride % d[0].size == 0 && first / d[1].stride % d[1].size == 0;
    if (!starts_a_group) continue;
    const std::vector<int> ranks = ranks_from(first, d);
    if (group == Group::embedding) {
      groups.push_back({ranks.front(), ranks.back()});
    } else if (group == Group::pipeline) {
      for (std::size_t i = 1; i < ranks.size(); ++i) groups.push_back({ranks[i - 1], ranks[i]});
    } else {
      groups.push_back(ranks);
    }
  }
  return groups;
}

Placement place(Group group, const Layout& layout, const Cluster& cluster) {
  const Dimensions d = dimensions(group, layout);
  if (d[0].size * d[1].size == 1) return {};
  if (is_pair(group)) return place_hop(d[0].size, d[0].stride, world_size(layout), cluster);
  if (d[1].size == 1 && aligned(d[0], cluster)) {
    return place_aligned(d[0], cluster, world_size(layout));
  }
  if (strides_over_nodes(d, cluster)) return place_like_first(d, cluster);
  return place_counted(group, d, layout, cluster);
}

}  // namespace meshwright
