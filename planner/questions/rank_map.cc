// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/rank_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/collective/collective_model.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"
#include "sim/volume/crossing.h"
#include "sim/volume/transfer.h"

namespace meshwright::planner {
namespace {

constexpr int kNodesDrawn = 4;
constexpr double kWorthALine = 1e-6;  // share of a step from which a line is printed

// Bandwidth that one rank gets of a link for a transfer.
BytesPerSecond rate_of(Tier tier, const Transfer& transfer, const Placement& placement,
                       const Cluster& cluster) {
  const Link& inside = cluster.intra_node;
  if (tier == Tier::intra_node) return inside.bandwidth * inside.bandwidth_fraction;
  return nic_share(transfer.collective, placement, cluster) *
         cluster.inter_node.bandwidth_fraction / placement.ranks_per_node;
}

AxisPlace axis_place(Group group, Tier tier, const Estimate& estimate, const Cluster& cluster) {
  AxisPlace axis;
  axis.group = group;
  axis.tier = tier;
  axis.placement = place(group, estimate.layout, cluster);
  axis.link = (tier == Tier::intra_node ? cluster.intra_node : cluster.inter_node).name;
  for (const Transfer& transfer : estimate.volume.busiest().transfers) {
    if (transfer.group != group) continue;
    const Bytes sent = sent_over_links(transfer, estimate.layout, cluster).on(tier);
    if (sent.value() <= 0.0) continue;
    const Placement placement = place(transfer, estimate.layout, cluster);
    axis.sent_per_step += sent;
    axis.share_of_step += sent / rate_of(tier, transfer, placement, cluster) / estimate.step_time;
  }
  return axis;
}

std::vector<int> drawn_nodes(int num_nodes) {
  std::vector<int> nodes;
  for (int node = 0; node < std::min(num_nodes, kNodesDrawn); ++node) nodes.push_back(node);
  if (num_nodes > kNodesDrawn) nodes.push_back(num_nodes - 1);
  return nodes;
}

// "3", "0-7", or "0,2,4" where a node holds every other one.
std::string range_text(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() == 1) return fmt::format("{}", values.front());
  const bool dense = values.back() - values.front() + 1 == static_cast<int>(values.size());
  if (dense) return fmt::format("{}-{}", values.front(), values.back());
  return fmt::format("{}", fmt::join(values, ","));
}

std::string node_text(const std::vector<RankPlace>& ranks, const Layout& layout) {
  std::string text;
  for (std::size_t a = 0; a < kMappedAxes.size(); ++a) {
    if (axis_size(layout, kMappedAxes[a]) == 1) continue;
    std::vector<int> values;
    for (const RankPlace& rank : ranks) values.push_back(rank.coordinates[a]);
    append_to_list(text, "  ", fmt::format("{} {}", name_of(kMappedAxes[a]), range_text(values)));
  }
  return text.empty() ? "the only rank" : text;
}

std::string axis_text(const AxisPlace& axis) {
  const Placement& p = axis.placement;
  const std::string where = p.tier() == Tier::intra_node
                                ? fmt::format("{} ranks inside a node", p.group_size)
                                : fmt::format("{} ranks, {} in each of {} nodes", p.group_size,
                                              p.ranks_per_node, p.num_nodes);
  return fmt::format("  {:13} {}, over {}: {} GB per rank and step, {} % of the step's time\n",
                     name_of(axis.group), where, axis.link,
                     number_text(axis.sent_per_step / gigabytes(1), 3),
                     number_text(100.0 * axis.share_of_step, 2));
}

std::string share_percent(double share) { return fmt::format("{:.1f} %", share * 100.0); }

std::string groups_text(const RankMap& map, const LinkLoad& load) {
  std::string text;
  for (const std::string& group : load.groups) {
    append_to_list(text, ", ",
                   fmt::format("{} {}", replaced(group, "_", " "),
                               share_percent(axis_share(map, group, load.tier))));
  }
  return text;
}

}  // namespace

RankPlace place_of(int rank, const Layout& layout) {
  const Coordinates at = coordinates(layout, rank);
  return {rank, {at.tensor, at.context, at.data, at.pipeline}};
}

RankMap rank_map(const Estimate& estimate, const Cluster& cluster) {
  RankMap map;
  std::set<Group> groups;
  for (const Transfer& t : estimate.volume.busiest().transfers) groups.insert(t.group);
  for (const Group group : groups) {
    for (const Tier tier : {Tier::intra_node, Tier::inter_node}) {
      map.axes.push_back(axis_place(group, tier, estimate, cluster));
    }
  }
  std::stable_sort(map.axes.begin(), map.axes.end(), [](const AxisPlace& a, const AxisPlace& b) {
    return a.share_of_step > b.share_of_step;
  });
  // Flags and norms load no link worth a line.
  std::erase_if(map.axes, [](const AxisPlace& axis) { return axis.share_of_step < kWorthALine; });
  const int a_node = std::min(cluster.gpus_per_node, world_size(estimate.layout));
  map.node_numbers = drawn_nodes(world_size(estimate.layout) / a_node);
  for (const int node : map.node_numbers) {
    std::vector<RankPlace> ranks;
    for (int i = 0; i < a_node; ++i) ranks.push_back(place_of(node * a_node + i, estimate.layout));
    map.nodes.push_back(ranks);
  }
  return map;
}

double axis_share(const RankMap& map, std::string_view group, Tier tier) {
  for (const AxisPlace& axis : map.axes) {
    if (name_of(axis.group) == group && axis.tier == tier) return axis.share_of_step;
  }
  return 0.0;
}

std::string_view tier_words(Tier tier) {
  return tier == Tier::intra_node ? "inside a node" : "between nodes";
}

std::vector<LinkLoad> link_loads(const RankMap& map) {
  std::vector<LinkLoad> loads;
  for (const AxisPlace& axis : map.axes) {
    auto found = std::find_if(loads.begin(), loads.end(),
                              [&](const LinkLoad& load) { return load.tier == axis.tier; });
    if (found == loads.end()) {
      found = loads.insert(loads.end(), {.link = axis.link, .tier = axis.tier});
    }
    found->share_of_step += axis.share_of_step;
    found->groups.emplace_back(name_of(axis.group));
  }
  std::stable_sort(loads.begin(), loads.end(), [](const LinkLoad& a, const LinkLoad& b) {
    return a.share_of_step > b.share_of_step;
  });
  return loads;
}

std::string busiest_link_text(const RankMap& map) {
  const std::vector<LinkLoad> loads = link_loads(map);
  if (loads.empty()) return "No group of this layout loads a link.";
  const LinkLoad& busiest = loads.front();
  std::string text = fmt::format(
      "The busiest link is {} ({}): sending keeps it busy for {} of the step ({}).", busiest.link,
      tier_words(busiest.tier), share_percent(busiest.share_of_step), groups_text(map, busiest));
  for (std::size_t i = 1; i < loads.size(); ++i) {
    text += fmt::format(" {}: {} ({}).", loads[i].link, share_percent(loads[i].share_of_step),
                        groups_text(map, loads[i]));
  }
  return text;
}

std::string rank_map_text(const RankMap& map, const Layout& layout, const Cluster& cluster) {
  std::string text =
      fmt::format("placement, {} {} per node, ranks numbered {}:\n", cluster.gpus_per_node,
                  device_noun(cluster, cluster.gpus_per_node), name_of(layout.rank_order));
  for (const AxisPlace& axis : map.axes) text += axis_text(axis);
  for (std::size_t i = 0; i < map.nodes.size(); ++i) {
    const bool gap = i > 0 && map.node_numbers[i] != map.node_numbers[i - 1] + 1;
    if (gap) text += "  ...\n";
    text += fmt::format("  node {:<8} {}\n", map.node_numbers[i], node_text(map.nodes[i], layout));
  }
  return text + "  " + busiest_link_text(map) + "\n";
}

}  // namespace meshwright::planner
