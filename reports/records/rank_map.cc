// SPDX-License-Identifier: Apache-2.0
// Where ranks sit: the rows "axes" and "nodes".
#include "reports/records/answers.h"
#include "sim/hardware/placement.h"

namespace meshwright::reports {
namespace {

const Record<planner::AxisPlace>& axis_place_record() {
  static const Record<planner::AxisPlace> record = [] {
    using R = planner::AxisPlace;
    const auto of_placement = [](int Placement::*member) {
      return [member](auto& axis) -> auto& { return axis.placement.*member; };
    };
    Record<R> r("A group of ranks on a link that it uses.");
    r.row<&R::group>(kGroupNames);
    r.row_at(of_placement(&Placement::group_size), "group_size");
    r.row_at(of_placement(&Placement::ranks_per_node), "ranks_per_node");
    r.row_at(of_placement(&Placement::num_nodes), "num_nodes");
    r.row<&R::tier>(kTierNames, "Of the link.");
    r.row<&R::link>();
    r.row<&R::sent_per_step>("Over that link, by one rank of the busiest stage.");
    r.row<&R::share_of_step>("That the link is busy with it.");
    return r.named("AxisPlace").all_required();
  }();
  return record;
}

const Record<planner::RankPlace>& rank_place_record() {
  return described([](Record<planner::RankPlace>& r) {
    r.about("A rank, and its place along each axis, from 0.");
    r.row<&planner::RankPlace::rank>(IntRange{.low = 0});
    for (std::size_t i = 0; i < planner::kMappedAxes.size(); ++i) {
      r.row_at(
          [i](auto& rank) -> auto& { return rank.coordinates[i]; },
          name_of(planner::kMappedAxes[i]), IntRange{.low = 0});
    }
    r.named("RankPlace").all_required();
  });
}

struct MappedNode {
  int node = 0;
  std::vector<planner::RankPlace> ranks{};
};

const Record<MappedNode>& mapped_node_record() {
  return described([](Record<MappedNode>& r) {
    r.about("The ranks of a node.");
    r.row<&MappedNode::node>(IntRange{.low = 0}, "From 0.");
    r.row<&MappedNode::ranks>(rank_place_record);
    r.named("MappedNode").all_required();
  });
}

Kind<planner::RankMap> mapped_nodes() {
  const Kind<std::vector<MappedNode>> list = kind::list(mapped_node_record);
  return {{.read =
               [list](ObjectReader& reader, const std::string& key, planner::RankMap& map) {
                 std::vector<MappedNode> nodes;
                 list.read(reader, key, nodes);
                 map.node_numbers.clear();
                 map.nodes.clear();
                 for (MappedNode& node : nodes) {
                   map.node_numbers.push_back(node.node);
                   map.nodes.push_back(std::move(node.ranks));
                 }
               },
           .write =
               [list](Json& json, const std::string& key, const planner::RankMap& map) {
                 std::vector<MappedNode> nodes;
                 for (std::size_t i = 0; i < map.nodes.size(); ++i) {
                   nodes.push_back({map.node_numbers[i], map.nodes[i]});
                 }
                 list.write(json, key, nodes);
               },
           .schema = [list] { return list.schema(); }}};
}

}  // namespace

const Record<planner::RankMap>& rank_map_record() {
  return described([](Record<planner::RankMap>& r) {
    using R = planner::RankMap;
    r.about("A layout drawn onto the machine.");
    r.row<&R::axes>(axis_place_record, "Groups and links that carry anything, most loaded first.");
    r.row_at(
        [](auto& map) -> auto& { return map; }, "nodes", mapped_nodes(),
        "The first few, and the last.");
    r.named("RankMap").all_required();
  });
}

}  // namespace meshwright::reports
