// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/cluster_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/tables/table_text.h"
#include "reports/text/text.h"
#include "sim/base/utf8.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/device.h"

namespace meshwright::reports {
namespace {

std::string rate(BytesPerSecond bandwidth) {
  const double gb = bandwidth / gigabytes_per_second(1);
  return gb >= 10'000.0 ? fmt::format("{} TB/s", number_text(gb / 1000.0))
                        : fmt::format("{} GB/s", number_text(gb));
}

std::string link_text(const Link& link, BytesPerSecond bandwidth) {
  return fmt::format("{}: {} each way, {} sustained, {} us per hop", link.name, rate(bandwidth),
                     rate(bandwidth * link.bandwidth_fraction),
                     number_text(link.latency.value() * 1e6, 3));
}

// "3 to 1" of what comes in below for what goes up.
std::string over_subscribed(double ratio) {
  return ratio <= 1.0 ? "not over-subscribed"
                      : fmt::format("over-subscribed {} : 1", number_text(ratio, 3));
}

std::string plural(int count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Lines of a tree that is drawn downwards, each level further to the right.
class Tree {
 public:
  explicit Tree(std::size_t width) : width_(width) {}

  void part(const std::string& text) {
    depth_ == 0 ? add("", "", text) : add(indent() + "└─ ", indent() + "   ", text);
    ++depth_;
  }
  void wire(const std::string& text) { add(indent() + "│  ", indent() + "│    ", text); }
  void beside(const std::string& text) { add(indent() + "├─ ", indent() + "│    ", text); }
  [[nodiscard]] std::string text() const { return text_; }

 private:
  void add(const std::string& first, const std::string& next, const std::string& text) {
    const std::size_t prefix = num_characters(next);
    bool begins = true;
    for (const std::string& line : broken_lines(text, width_ > prefix ? width_ - prefix : 0)) {
      text_ += (begins ? first : next) + line + "\n";
      begins = false;
    }
  }
  [[nodiscard]] std::string indent() const {
    return std::string(std::size_t{3} * static_cast<std::size_t>(depth_ - 1), ' ');
  }

  std::size_t width_;
  std::string text_;
  int depth_ = 0;
};

void draw_network(const Cluster& c, Tree& tree) {
  const bool by_rail = c.network == NetworkFabric::rail_optimised;
  const double spine = std::max(1.0, c.spine_oversubscription);
  const BytesPerSecond node = c.inter_node.bandwidth * c.gpus_per_node;
  if (c.num_pods() > 1) {
    tree.part("core switches");
    const double core = spine * std::max(1.0, c.core_oversubscription);
    tree.wire(fmt::format("{} from a pod of {} nodes, {}", rate(node * c.nodes_per_pod / core),
                          c.nodes_per_pod, over_subscribed(c.core_oversubscription)));
  }
  tree.part(plural(c.num_pods(), "set of spine switches", "sets of spine switches"));
  const int below = std::min(c.nodes_per_leaf, c.num_nodes);
  const BytesPerSecond leaf = by_rail ? c.rail_bandwidth() * below : node * below;
  tree.wire(fmt::format("{} from a leaf, {}", rate(leaf / spine), over_subscribed(spine)));
  const int leaves = c.num_leaf_blocks() * (by_rail ? c.num_rails() : 1);
  tree.part(fmt::format("{}, each for {} of {} nodes",
                        plural(leaves, "leaf switch", "leaf switches"),
                        by_rail ? "one rail" : "all NICs", below));
  tree.wire(link_text(c.inter_node, c.rail_bandwidth()));
}

void draw_node(const Cluster& c, Tree& tree) {
  tree.part(plural(c.num_nodes, "node", "nodes, each:"));
  if (c.num_nodes > 1 || c.inter_node.bandwidth.value() > 0.0) {
    const int nics = c.nics_per_node == 0 ? c.gpus_per_node : c.nics_per_node;
    const bool own_link = c.nics_beside_fabric() && only_device(c).host_link.value() > 0.0;
    tree.beside(fmt::format(
        "{} on {}{}", plural(nics, "NIC", "NICs"), plural(c.num_rails(), "rail", "rails"),
        own_link
            ? fmt::format("; PCIe to a device: {} (measured rate)", rate(only_device(c).host_link))
            : ""));
  }
  const std::string_view hub = c.node_fabric == NodeFabric::nvswitch ? "NVLink switches"
                               : c.node_fabric == NodeFabric::mesh   ? "links of each two devices"
                               : c.node_fabric == NodeFabric::pcie   ? "PCIe root"
                                                                     : "shared memory";
  tree.part(std::string(hub));
  tree.wire(link_text(c.intra_node, c.intra_node.bandwidth));
  if (c.gpus_per_island > 1) {
    tree.part(
        fmt::format("{} islands of {}", c.gpus_per_node / c.gpus_per_island, c.gpus_per_island));
    tree.wire(link_text(c.island, c.island.bandwidth));
  }
  const std::string whole =
      c.domain_size() > c.gpus_per_node ? fmt::format(", of {}", c.domain_size()) : "";
  tree.part(fmt::format("{} x {}{}", c.gpus_per_node, only_device(c).name, whole));
}

using Rows = std::vector<std::vector<Cell>>;

void add_row(Rows& rows, const std::string& what, double value, const std::string& unit,
             Provenance provenance) {
  rows.push_back({what, value, unit, std::string(name_of(provenance))});
}

void add_link_rows(Rows& rows, const std::string& where, const Link& link) {
  const auto us = [](Seconds time) { return time.value() * 1e6; };
  add_row(rows, where + " bandwidth of a device", link.bandwidth / gigabytes_per_second(1), "GB/s",
          link.provenance == Provenance::measured || link.provenance == Provenance::assumed
              ? link.provenance
              : Provenance::datasheet);
  add_row(rows, where + " sustained share", link.bandwidth_fraction, "", link.provenance);
  if (link.sharp_bandwidth_fraction > 0.0) {
    add_row(rows,
            fmt::format("{} in-switch all-reduce, from {} devices", where, link.sharp_min_group),
            link.sharp_bandwidth_fraction, "of bandwidth", link.provenance);
  }
  add_row(rows, where + " latency of a call", us(link.base_latency), "us", link.provenance);
  add_row(rows, where + " latency of a hop", us(link.latency), "us", link.provenance);
  if (link.ramp_latency.value() > 0.0) {
    add_row(rows, where + " ramp", us(link.ramp_latency), "us", link.provenance);
  }
  for (const CollectiveCurve& curve : link.curves) {
    add_row(rows, fmt::format("{} {} over {}", where, name_of(curve.collective), curve.group_size),
            static_cast<double>(curve.points.size()), "points", Provenance::measured);
  }
}

}  // namespace

std::string cluster_tree(const Cluster& c, std::size_t width) {
  Tree tree(width);
  if (c.num_nodes > 1) draw_network(c, tree);
  draw_node(c, tree);
  return fmt::format("{}: {}, {}\n\n{}", c.name, plural(c.num_gpus(), "device", "devices"),
                     plural(c.num_nodes, "node", "nodes"), tree.text());
}

Table cluster_numbers_table(const Cluster& c) {
  Table table{"Numbers and their sources",
              {{"quantity", "quantity", ""},
               {"value", "value", ""},
               {"unit", "unit", ""},
               {"provenance", "provenance", ""}},
              {}};
  add_row(table.rows, "device memory", in_gibibytes(only_device(c).memory), "GiB",
          Provenance::datasheet);
  add_row(table.rows, "device memory bandwidth",
          only_device(c).memory_bandwidth / gigabytes_per_second(1), "GB/s", Provenance::datasheet);
  add_row(table.rows, "device memory sustained share", only_device(c).memory_bandwidth_fraction, "",
          only_device(c).memory_provenance);
  for (const GemmModel& gemm : only_device(c).gemm) {
    const std::string precision(name_of(gemm.precision));
    add_row(table.rows, "device peak, " + precision, gemm.peak / teraflops_per_second(1), "TFLOP/s",
            Provenance::datasheet);
    add_row(table.rows, "device sustained share, " + precision, gemm.sustained_fraction, "",
            gemm.provenance);
  }
  add_link_rows(table.rows, "node link", c.intra_node);
  if (c.gpus_per_island > 1) add_link_rows(table.rows, "island link", c.island);
  if (c.inter_node.bandwidth.value() > 0.0) add_link_rows(table.rows, "network", c.inter_node);
  return table;
}

Table group_loads_table(const std::vector<GroupLoad>& loads) {
  Table table{"Bus bandwidth of the slowest group, large messages",
              {{"group", "group", ""},
               {"group_size", "size", ""},
               {"num_groups", "groups", ""},
               {"ranks_per_node", "ranks per node", ""},
               {"num_nodes", "nodes", ""},
               {"closed_form_gb_per_s", "estimate", "GB/s"},
               {"random_order_gb_per_s", "random node order", "GB/s"},
               {"alone_gb_per_s", "alone", "GB/s"},
               {"together_gb_per_s", "all groups", "GB/s"},
               {"with_others_gb_per_s", "all axes", "GB/s"},
               {"bottleneck", "bottleneck", ""},
               {"links", "links used (highest load)", ""}},
              {}};
  const auto gb = [](BytesPerSecond b) { return b / gigabytes_per_second(1); };
  for (const GroupLoad& load : loads) {
    std::vector<std::string> uses;
    for (const WireUse& use : load.wires) {
      uses.push_back(
          fmt::format("{} {} ({:.0f} %)", use.wires, name_of(use.kind), 100.0 * use.most_used));
    }
    table.rows.push_back(
        {std::string(meshwright::name_of(load.group)),
         static_cast<double>(load.placement.group_size), static_cast<double>(load.num_groups),
         static_cast<double>(load.placement.ranks_per_node),
         static_cast<double>(load.placement.num_nodes), gb(load.closed_form), gb(load.random_order),
         gb(load.alone), gb(load.together), gb(load.with_others),
         std::string(load.wires.empty() ? "-" : name_of(load.wires.front().kind)),
         fmt::format("{}", fmt::join(uses, ", "))});
  }
  return table;
}

}  // namespace meshwright::reports
