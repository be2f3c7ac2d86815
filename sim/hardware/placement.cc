// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/placement.h"

#include <algorithm>
#include <array>
#include <vector>

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

// Neighbours of a pipeline, or its two ends: the pair that is furthest apart counts, because the
// slowest hop sets the pace. Every rank of a stage talks to its own partner at the same time.
Placement place_pair(Dimension pipeline, int node) {
  if (pipeline.size == 1) return {};
  if (pipeline.size * pipeline.stride <= node) return {2, 2, 1, std::max(1, pipeline.stride)};
  return {2, 1, 2, std::min(pipeline.stride, node)};
}

// Every group of this axis sits alike when its span and the node divide each other.
bool aligned(Dimension d, int node) {
  const int span = d.size * d.stride;
  if (d.stride % node == 0) return true;
  return node % d.stride == 0 && (span % node == 0 || node % span == 0);
}

Placement place_aligned(Dimension d, int node, int world) {
  const int span = d.size * d.stride;
  Placement p;
  p.group_size = d.size;
  p.ranks_per_node = d.stride >= node ? 1 : std::min(d.size, node / d.stride);
  p.num_nodes = d.stride >= node ? d.size : (span + node - 1) / node;
  p.groups_per_node = std::max(1, std::min(node, world) / p.ranks_per_node);
  return p;
}

// Any strides and node sizes: count. The group that touches the most nodes stands for all.
Placement place_counted(const Dimensions& d, int node, int world) {
  Placement worst;
  worst.group_size = d[0].size * d[1].size;
  std::vector<int> groups_on(static_cast<std::size_t>((world + node - 1) / node), 0);
  std::vector<int> members(groups_on.size(), 0);
  for (int first = 0; first < world; ++first) {
    const bool starts_a_group =
        first / d[0].stride % d[0].size == 0 && first / d[1].stride % d[1].size == 0;
    if (!starts_a_group) continue;
    std::fill(members.begin(), members.end(), 0);
    for (int i = 0; i < worst.group_size; ++i) {
      const int rank = first + i % d[0].size * d[0].stride + i / d[0].size * d[1].stride;
      ++members[static_cast<std::size_t>(rank / node)];
    }
    int nodes = 0, crowd = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      nodes += members[i] > 0 ? 1 : 0;
      groups_on[i] += members[i] > 0 ? 1 : 0;
      crowd = std::max(crowd, members[i]);
    }
    if (nodes < worst.num_nodes) continue;
    const bool more_crowded = nodes > worst.num_nodes || crowd > worst.ranks_per_node;
    if (more_crowded) worst.ranks_per_node = crowd;
    worst.num_nodes = nodes;
  }
  worst.groups_per_node = *std::max_element(groups_on.begin(), groups_on.end());
  return worst;
}

}  // namespace

Placement place(Group group, const Layout& layout, const Cluster& cluster) {
  const Dimensions d = dimensions(group, layout);
  const int node = cluster.gpus_per_node, world = world_size(layout);
  if (group == Group::pipeline || group == Group::embedding) return place_pair(d[0], node);
  if (d[0].size * d[1].size == 1) return {};
  if (d[1].size == 1 && aligned(d[0], node)) return place_aligned(d[0], node, world);
  return place_counted(d, node, world);
}

}  // namespace meshwright
