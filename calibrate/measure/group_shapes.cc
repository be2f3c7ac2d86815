// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/group_shapes.h"

#include <algorithm>

namespace meshwright::calibrate {
namespace {

std::vector<int> ranks_per_node(const std::vector<int>& node_of_rank) {
  std::vector<int> count;
  for (const int node : node_of_rank) {
    count.resize(std::max(count.size(), static_cast<std::size_t>(node) + 1));
    ++count[static_cast<std::size_t>(node)];
  }
  return count;
}

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

// 1, 2, 4 ... and, beside them, the whole (or all its divisors).
std::vector<int> sizes_up_to(int whole, bool divisors) {
  std::vector<int> sizes;
  for (int n = 1; n <= whole; ++n) {
    if (is_power_of_two(n) || n == whole || (divisors && whole % n == 0)) sizes.push_back(n);
  }
  return sizes;
}

class RanksByNode {
 public:
  explicit RanksByNode(const std::vector<int>& node_of_rank)
      : node_(node_of_rank), local_(local_numbers(node_of_rank)) {
    const std::vector<int> counts = ranks_per_node(node_of_rank);
    per_node_ = *std::min_element(counts.begin(), counts.end());
    nodes_ = static_cast<int>(counts.size());
  }
  [[nodiscard]] int per_node() const { return per_node_; }
  [[nodiscard]] int nodes() const { return nodes_; }

  // Groups of `in_node` ranks on each of `nodes` nodes; `groups` of them a node.
  [[nodiscard]] GroupShape shape(int in_node, int nodes, int groups) const {
    GroupShape shape{.placement = {in_node * nodes, in_node, nodes, groups}, .color_of_rank = {}};
    // A group alone inside a node has no other one on the other nodes either.
    const int clusters = groups == 1 && per_node_ / in_node > 1 ? 1 : nodes_ / nodes;
    for (std::size_t rank = 0; rank < node_.size(); ++rank) {
      const int group = local_[rank] / in_node, cluster = node_[rank] / nodes;
      const bool works = group < groups && cluster < clusters;
      shape.color_of_rank.push_back(works ? cluster * groups + group : -1);
    }
    return shape;
  }

  // Each node in groups of `in_node` ranks, as far apart as they can be.
  [[nodiscard]] GroupShape strided_shape(int in_node) const {
    const int stride = per_node_ / in_node;
    GroupShape shape{
        .placement = {in_node, in_node, 1, stride}, .color_of_rank = {}, .stride = stride};
    for (std::size_t rank = 0; rank < node_.size(); ++rank) {
      const bool works = local_[rank] < in_node * stride;
      shape.color_of_rank.push_back(works ? node_[rank] * stride + local_[rank] % stride : -1);
    }
    return shape;
  }

 private:
  std::vector<int> node_, local_;
  int per_node_ = 1, nodes_ = 1;
};

}  // namespace

std::vector<int> node_numbers(const std::vector<std::string>& host_of_rank) {
  std::vector<std::string> hosts;
  std::vector<int> numbers;
  for (const std::string& host : host_of_rank) {
    const auto found = std::find(hosts.begin(), hosts.end(), host);
    numbers.push_back(static_cast<int>(found - hosts.begin()));
    if (found == hosts.end()) hosts.push_back(host);
  }
  return numbers;
}

std::vector<int> local_numbers(const std::vector<int>& node_of_rank) {
  std::vector<int> seen(node_of_rank.size()), local;
  for (const int node : node_of_rank) local.push_back(seen[static_cast<std::size_t>(node)]++);
  return local;
}

std::vector<GroupShape> group_shapes(const std::vector<int>& node_of_rank, bool strided) {
  const RanksByNode slots(node_of_rank);
  std::vector<GroupShape> shapes;
  for (const int nodes : sizes_up_to(slots.nodes(), false)) {
    for (const int in_node : sizes_up_to(slots.per_node(), nodes == 1)) {
      if (in_node * nodes == 1) continue;
      const int most = slots.per_node() / in_node;
      shapes.push_back(slots.shape(in_node, nodes, most));
      if (most > 1) shapes.push_back(slots.shape(in_node, nodes, 1));
    }
  }
  for (const int in_node : sizes_up_to(strided ? slots.per_node() / 2 : 1, false)) {
    if (in_node > 1) shapes.push_back(slots.strided_shape(in_node));
  }
  return shapes;
}

}  // namespace meshwright::calibrate
