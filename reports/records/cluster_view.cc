// SPDX-License-Identifier: Apache-2.0
#include "reports/records/cluster_view.h"

#include "sim/json/input_records.h"

namespace meshwright::reports {
namespace {

const Record<WireUse>& wire_use_record() {
  static const Record<WireUse> record = [] {
    using R = WireUse;
    Record<R> r("The wires of a kind that a group uses.");
    r.row(&R::kind, "kind", kind::choice(kWireKindNames), "What they connect.");
    r.row(&R::wires, "wires", kind::integer({.low = 0}), "How many of them it uses.");
    r.row(&R::most_used, "most_used", kind::number(),
          "The fullest one's use, as a share of its sustained bandwidth.");
    return r.all_required();
  }();
  return record;
}

const Record<GroupLoad>& group_load_record() {
  static const Record<GroupLoad> record = [] {
    using R = GroupLoad;
    const auto rate = kind::base_amount<BytesPerSecond>();
    Record<R> r(
        "What the groups of an axis get of the cluster for large messages (bus bandwidth).");
    const auto add_size = [&r](int Placement::*member, std::string_view key,
                               std::string_view about) {
      r.row_at<int>(
          [member](auto& load) -> auto& { return load.placement.*member; }, key, kind::integer(),
          about);
    };
    r.row(&R::group, "group", kind::choice(kGroupNames), "The axis.");
    r.row(&R::collective, "collective", kind::choice(kCollectiveNames), "What its ranks do.");
    add_size(&Placement::group_size, "group_size", "Ranks of a group.");
    r.row(&R::num_groups, "num_groups", kind::integer(), "Groups of the axis.");
    add_size(&Placement::ranks_per_node, "ranks_per_node", "Ranks of a group that share a node.");
    add_size(&Placement::num_nodes, "num_nodes", "Nodes that a group touches.");
    r.row(&R::closed_form, "closed_form_bytes_per_second", rate, "What an estimate assumes.");
    r.row(&R::alone, "alone_bytes_per_second", rate, "One group, and nothing else.");
    r.row(&R::together, "together_bytes_per_second", rate, "All groups of the axis at once.");
    r.row(&R::with_others, "with_others_bytes_per_second", rate, "All groups of all axes at once.");
    r.row(&R::wires, "wires", kind::list(wire_use_record),
          "The wires that all groups of the axis use, widest use first.");
    return r.all_required();
  }();
  return record;
}

}  // namespace

const Record<ClusterView>& cluster_view_record() {
  static const Record<ClusterView> record = [] {
    using R = ClusterView;
    Record<R> r("A cluster, and what the groups of a layout get of its wires.");
    r.file_of({"meshwright.cluster_view/1"}, true);
    r.row(&R::command, "command", kind::text(), "Makes the view again.");
    r.row(&R::cluster, "cluster", kind::object(cluster_record), "The cluster.");
    r.row(&R::layout, "layout", kind::object(layout_record), "The layout whose groups are placed.");
    r.row(&R::vertices, "vertices", kind::count(), "Devices, NICs and switches.");
    r.row(&R::edges, "edges", kind::count(), "Wires.");
    r.row(&R::bisection, "bisection_bytes_per_second", kind::base_amount<BytesPerSecond>(),
          "Bandwidth between the two halves of the devices.");
    r.row(&R::groups, "groups", kind::list(group_load_record),
          "Each axis that has more than one rank.");
    return r.all_required();
  }();
  return record;
}

}  // namespace meshwright::reports
