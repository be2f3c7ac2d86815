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
    r.row(&R::group, "group", kind::choice(kGroupNames), "");
    r.row_at<int>(of_placement(&Placement::group_size), "group_size", kind::integer(), "");
    r.row_at<int>(of_placement(&Placement::ranks_per_node), "ranks_per_node", kind::integer(), "");
    r.row_at<int>(of_placement(&Placement::num_nodes), "num_nodes", kind::integer(), "");
    r.row(&R::tier, "tier", kind::choice(kTierNames), "Of the link.");
    r.row(&R::link, "link", kind::text(), "");
    r.row(&R::sent_per_step, "sent_per_step_bytes", kind::base_amount<Bytes>(),
          "Over that link, by one rank of the busiest stage.");
    r.row(&R::share_of_step, "share_of_step", kind::number(), "That the link is busy with it.");
    return r.named("AxisPlace").all_required();
  }();
  return record;
}

const Record<planner::RankPlace>& rank_place_record() {
  static const Record<planner::RankPlace> record = [] {
    Record<planner::RankPlace> r("A rank, and its place along each axis, from 0.");
    r.row(&planner::RankPlace::rank, "rank", kind::integer({.low = 0}), "");
    for (std::size_t i = 0; i < planner::kMappedAxes.size(); ++i) {
      r.row_at<int>(
          [i](auto& rank) -> auto& { return rank.coordinates[i]; },
          name_of(planner::kMappedAxes[i]), kind::integer({.low = 0}), "");
    }
    return r.named("RankPlace").all_required();
  }();
  return record;
}

struct MappedNode {
  int node = 0;
  std::vector<planner::RankPlace> ranks{};
};

const Record<MappedNode>& mapped_node_record() {
  static const Record<MappedNode> record = [] {
    Record<MappedNode> r("The ranks of a node.");
    r.row(&MappedNode::node, "node", kind::integer({.low = 0}), "From 0.");
    r.row(&MappedNode::ranks, "ranks", kind::list(rank_place_record), "");
    return r.named("MappedNode").all_required();
  }();
  return record;
}

Kind<planner::RankMap> mapped_nodes() {
  const Kind<std::vector<MappedNode>> list = kind::list(mapped_node_record);
  return {.read =
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
          .schema = list.schema};
}

}  // namespace

const Record<planner::RankMap>& rank_map_record() {
  static const Record<planner::RankMap> record = [] {
    using R = planner::RankMap;
    Record<R> r("A layout drawn onto the machine.");
    r.row(&R::axes, "axes", kind::list(axis_place_record),
          "Groups and links that carry anything, most loaded first.");
    r.row_at<R>(
        [](auto& map) -> auto& { return map; }, "nodes", mapped_nodes(),
        "The first few, and the last.");
    return r.named("RankMap").all_required();
  }();
  return record;
}

}  // namespace meshwright::reports
