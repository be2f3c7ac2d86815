// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "planner/questions/rank_map.h"
#include "reports/answers_json.h"
#include "reports/cluster_text.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/base/text.h"
#include "sim/hardware/cluster.h"

namespace meshwright::reports {
namespace {

// What all groups that cross one link keep it busy with, were nothing overlapped.
struct LinkLoad {
  std::string name;
  Tier tier = Tier::intra_node;
  double share_of_step = 0.0;
  std::vector<const planner::AxisPlace*> axes;  // most loaded first, as the map has them
};

std::vector<LinkLoad> link_loads(const planner::RankMap& map) {
  std::vector<LinkLoad> loads;
  for (const planner::AxisPlace& axis : map.axes) {
    const Tier tier = axis.tier;
    auto found = std::find_if(loads.begin(), loads.end(),
                              [tier](const LinkLoad& load) { return load.tier == tier; });
    if (found == loads.end()) {
      loads.push_back({.name = axis.link, .tier = tier, .axes = {}});
      found = loads.end() - 1;
    }
    found->share_of_step += axis.share_of_step;
    found->axes.push_back(&axis);
  }
  std::stable_sort(loads.begin(), loads.end(), [](const LinkLoad& a, const LinkLoad& b) {
    return a.share_of_step > b.share_of_step;
  });
  return loads;
}

std::string groups_text(const LinkLoad& load) {
  std::string text;
  for (const planner::AxisPlace* axis : load.axes) {
    append_to_list(
        text, ", ",
        fmt::format("{} {}", spoken(name_of(axis->group)), percent_text(axis->share_of_step)));
  }
  return text;
}

std::string placement_sentence(const std::vector<LinkLoad>& loads) {
  if (loads.empty()) return "No group of this layout loads a link.";
  const LinkLoad& busiest = loads.front();
  std::string text = fmt::format(
      "The busiest link is {} ({}): sending keeps it busy for {} of the "
      "step ({}).",
      busiest.name, busiest.tier == Tier::intra_node ? "inside a node" : "between nodes",
      percent_text(busiest.share_of_step), groups_text(busiest));
  for (std::size_t i = 1; i < loads.size(); ++i) {
    text += fmt::format(" {}: {} ({}).", loads[i].name, percent_text(loads[i].share_of_step),
                        groups_text(loads[i]));
  }
  return text;
}

Json links_of(const std::vector<LinkLoad>& loads) {
  Json links = Json::array();
  for (const LinkLoad& load : loads) {
    Json groups = Json::array();
    for (const planner::AxisPlace* axis : load.axes) groups.push_back(name_of(axis->group));
    links.push_back({{"link", load.name},
                     {"tier", name_of(load.tier)},
                     {"share_of_step", load.share_of_step},
                     {"groups", std::move(groups)}});
  }
  return links;
}

}  // namespace

Json placement_section(const planner::Plan& plan) {
  if (plan.ranked.empty()) return {};
  const Estimate& best = plan.ranked.front();
  const planner::RankMap map = planner::rank_map(best, plan.cluster);
  const std::vector<LinkLoad> loads = link_loads(map);
  Json json{{"sentence", placement_sentence(loads)}, {"rank_order", Json::array()}};
  for (const Axis axis : best.layout.rank_order) json["rank_order"].push_back(name_of(axis));
  json["gpus_per_node"] = plan.cluster.gpus_per_node;
  json["num_nodes"] = plan.cluster.num_nodes;
  json.update(to_json(map));
  json["links"] = links_of(loads);
  json["wiring"] = cluster_tree(plan.cluster);
  return json;
}

}  // namespace meshwright::reports
