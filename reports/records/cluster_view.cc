// SPDX-License-Identifier: Apache-2.0
#include "reports/records/cluster_view.h"

#include "sim/json/input_records.h"

namespace meshwright::reports {
namespace {

const Record<WireUse>& wire_use_record() {
  return described([](Record<WireUse>& r) {
    using R = WireUse;
    r.about("The wires of a kind that a group uses.");
    r.row<&R::kind>(kWireKindNames, "What they connect.");
    r.row<&R::wires>(IntRange{.low = 0}, "How many of them it uses.");
    r.row<&R::most_used>("The fullest one's use, as a share of its sustained bandwidth.");
    r.all_required();
  });
}

const Record<GroupLoad>& group_load_record() {
  return described([](Record<GroupLoad>& r) {
    using R = GroupLoad;
    r.about("What the groups of an axis get of the cluster for large messages (bus bandwidth).");
    const auto add_size = [&r](int Placement::*member, std::string_view key,
                               std::string_view about) {
      r.row_at(
          [member](auto& load) -> auto& { return load.placement.*member; }, key, about);
    };
    r.row<&R::group>(kGroupNames, "The axis.");
    r.row<&R::collective>(kCollectiveNames, "What its ranks do.");
    add_size(&Placement::group_size, "group_size", "Ranks of a group.");
    r.row<&R::num_groups>("Groups of the axis.");
    add_size(&Placement::ranks_per_node, "ranks_per_node", "Ranks of a group that share a node.");
    add_size(&Placement::num_nodes, "num_nodes", "Nodes that a group touches.");
    r.row<&R::closed_form>("What an estimate assumes.");
    r.row<&R::random_order>("The same with the nodes in random order over the leaf switches.");
    r.row<&R::alone>("One group, and nothing else.");
    r.row<&R::together>("All groups of the axis at once.");
    r.row<&R::with_others>("All groups of all axes at once.");
    r.row<&R::wires>(wire_use_record,
                     "The wires that all groups of the axis use, widest use first.");
    r.all_required();
  });
}

}  // namespace

const Record<ClusterView>& cluster_view_record() {
  return described([](Record<ClusterView>& r) {
    using R = ClusterView;
    r.about("A cluster, and what the groups of a layout get of its wires.");
    r.file_of({"meshwright.cluster_view/1"}, true);
    add_origin(r);
    r.row<&R::cluster>(cluster_record, "The cluster.");
    r.row<&R::layout>(layout_record, "The layout whose groups are placed.");
    r.row<&R::vertices>(kind::count(), "Devices, NICs and switches.");
    r.row<&R::edges>(kind::count(), "Wires.");
    r.row<&R::bisection>("Bandwidth between the two halves of the devices.");
    r.row<&R::groups>(group_load_record, "Each axis that has more than one rank.");
    r.all_required();
  });
}

}  // namespace meshwright::reports
