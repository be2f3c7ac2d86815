// SPDX-License-Identifier: Apache-2.0
// Where the ranks of layout #1 are, and how busy they keep each link.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "planner/questions/rank_map.h"
#include "reports/html/blocks.h"
#include "reports/html/drawing.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/tables/cluster_text.h"
#include "reports/text/text.h"
#include "sim/base/text.h"
#include "sim/hardware/cluster.h"

namespace meshwright::reports {
namespace {

using html::escape;
using planner::AxisPlace;
using planner::LinkLoad;
using planner::RankPlace;

const Record<LinkLoad>& link_load_record() {
  return described([](Record<LinkLoad>& r) {
    using R = LinkLoad;
    r.about("What all groups that cross a link keep it busy with, were nothing overlapped.");
    r.row<&R::link>();
    r.row<&R::tier>(kTierNames);
    r.row<&R::share_of_step>();
    r.row<&R::groups>("The most loaded first.");
    r.named("LinkLoad").all_required();
  });
}

const Record<PlacementPart>& placement_record() {
  return described([](Record<PlacementPart>& r) {
    using R = PlacementPart;
    r.about(
        "Where the ranks of layout #1 are, and how long sending keeps each link busy, as a share "
        "of "
        "the step.");
    r.row<&R::sentence>();
    r.row<&R::rank_order>("The fastest varying axis first.");
    r.rows<&R::gpus_per_node, &R::num_nodes>();
    r.rows_of(
        rank_map_record(), [](auto& placement) -> auto& { return placement.map; });
    r.row<&R::links>(link_load_record, "The busiest first.");
    r.row<&R::wiring>();
    r.named("Placement").all_required();
  });
}

void placement_rows(Record<Report>& r) { r.row<&Report::placement>(nullable(placement_record)); }

void fill_placement(Report& report, const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  if (plan.ranked.empty()) return;
  const Estimate& best = plan.ranked.front();
  PlacementPart& placement = report.placement.emplace();
  placement.gpus_per_node = plan.cluster.gpus_per_node;
  placement.num_nodes = plan.cluster.num_nodes;
  for (const Axis axis : best.layout.rank_order) placement.rank_order.emplace_back(name_of(axis));
  placement.map = planner::rank_map(best, plan.cluster);
  placement.links = planner::link_loads(placement.map);
  placement.sentence = planner::busiest_link_text(placement.map);
  placement.wiring = cluster_tree(plan.cluster);
}

constexpr std::size_t kCellsARow = 9;  // of an NVL72 rack: eight rows
constexpr double kRowLabel = 110.0;
constexpr double kCellHeight = 38.0;
constexpr double kDrawingWidth = 1000.0;

// Axes of more than one rank, innermost first.
std::vector<Axis> used_axes(const Layout& layout) {
  std::vector<Axis> axes;
  for (const Axis axis : layout.rank_order) {
    if (axis_size(layout, axis) > 1) axes.push_back(axis);
  }
  return axes;
}

// "tp3 dp0", of `axes` from number `first` on.
std::string place_text(const RankPlace& rank, const std::vector<Axis>& axes,
                       std::size_t first = 0) {
  std::string text;
  for (std::size_t i = first; i < axes.size(); ++i) {
    for (std::size_t a = 0; a < planner::kMappedAxes.size(); ++a) {
      if (planner::kMappedAxes[a] != axes[i]) continue;
      append_to_list(text, " ", fmt::format("{}{}", name_of(axes[i]), rank.coordinates[a]));
    }
  }
  return text;
}

// Ranks that differ only along the innermost axis share a colour.
using Tints = std::map<std::string, std::size_t>;
const html::Tint& tint_of(const RankPlace& rank, const std::vector<Axis>& axes, Tints& tints) {
  const std::size_t next = tints.size() % html::kTints.size();
  return html::kTints[tints.emplace(place_text(rank, axes, 1), next).first->second];
}

std::string rank_cell(double x, double y, double width, const html::Tint& tint, int rank,
                      const std::string& place) {
  return fmt::format(
      R"(<g><title>rank {0}: {1}</title><rect x="{2:.1f}" y="{3:.1f}" width="{4:.1f}" height="{5}" rx="3" fill="{6}"/>)"
      R"(<text x="{7:.1f}" y="{8:.1f}" fill="{9}" text-anchor="middle" font-size="11">rank {0}</text><text x="{7:.1f}" y="{10:.1f}" fill="{9}" text-anchor="middle" font-size="11">{1}</text></g>)",
      rank, place, x, y, width - 4.0, kCellHeight - 4.0, tint.colour, x + (width - 4.0) / 2.0,
      y + 14.0, tint.text, y + 28.0);
}

// The first nodes and the last, a row a node (several, where a node holds many).
std::string nodes_drawing(const planner::RankMap& map, const std::vector<Axis>& axes) {
  Tints tints;
  std::string cells;
  double y = 4.0;
  for (std::size_t n = 0; n < map.nodes.size(); ++n) {
    if (n > 0 && map.node_numbers[n] > map.node_numbers[n - 1] + 1) {
      cells += fmt::format(R"(<text class="row" x="0" y="{:.1f}">⋮</text>)", y + 12.0);
      y += 20.0;
    }
    cells += fmt::format(R"(<text class="row" x="0" y="{:.1f}">node {}</text>)", y + 21.0,
                         map.node_numbers[n]);
    const std::vector<RankPlace>& ranks = map.nodes[n];
    const std::size_t across = std::min(kCellsARow, ranks.size());
    const double width = std::min((kDrawingWidth - kRowLabel) / static_cast<double>(across), 160.0);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto row = static_cast<double>(i / across), column = static_cast<double>(i % across);
      cells += rank_cell(kRowLabel + column * width, y + row * kCellHeight, width,
                         tint_of(ranks[i], axes, tints), ranks[i].rank, place_text(ranks[i], axes));
    }
    y += kCellHeight * static_cast<double>((ranks.size() + across - 1) / across) + 6.0;
  }
  return fmt::format(
      R"(<div class="scroll" tabindex="0" role="region" aria-label="Ranks on the first nodes and the last"><svg class="placement" viewBox="0 0 {0} {1:.0f}" width="{0}" role="img" aria-label="Ranks on the first nodes and the last">{2}</svg></div>)"
      "\n",
      kDrawingWidth, y, cells);
}

std::string where_text(const Placement& placement) {
  if (placement.num_nodes <= 1) return "inside a node";
  return fmt::format("{} in each of {} nodes", placement.ranks_per_node, placement.num_nodes);
}

std::string axes_table(const planner::RankMap& map, std::string_view noun) {
  html::TableRows rows;
  for (const AxisPlace& axis : map.axes) {
    rows.push_back({escape(spoken(name_of(axis.group))),
                    fmt::format("{}", axis.placement.group_size), where_text(axis.placement),
                    escape(axis.link), significant(axis.sent_per_step / gigabytes(1)),
                    fmt::format("{:.1f}", axis.share_of_step * 100.0)});
  }
  return html::table("Where each group's ranks sit, and how long its traffic keeps the link busy",
                     {{"group"},
                      {"ranks", true},
                      {"its ranks are"},
                      {"link"},
                      {fmt::format("sent per {} and step, GB", noun), true},
                      {"link busy, % of the step", true}},
                     rows);
}

std::string link_bars(const PlacementPart& placement) {
  double most = 0.0;
  for (const LinkLoad& link : placement.links) most = std::max(most, link.share_of_step);
  html::TableRows rows;
  std::vector<std::string> names;
  for (const LinkLoad& link : placement.links) {
    std::vector<html::Segment> segments;
    for (const std::string& group : link.groups) {
      const double share = planner::axis_share(placement.map, group, link.tier);
      segments.push_back({group, share, fmt::format("{}: {}", spoken(group), percent_text(share))});
      if (std::find(names.begin(), names.end(), group) == names.end()) names.push_back(group);
    }
    rows.push_back({fmt::format("{}, {}", escape(link.link), planner::tier_words(link.tier)),
                    html::bar(segments, most), fmt::format("{:.1f}", link.share_of_step * 100.0)});
  }
  return "<div class=\"bars\">" +
         html::table("Share of the step for which layout #1 uses each link",
                     {{"link"}, {"by group"}, {"% of the step", true}}, rows) +
         "</div>" + html::legend(names);
}

std::string_view words_for(Axis axis) {
  return axis == Axis::tensor    ? "tensor"
         : axis == Axis::context ? "context"
         : axis == Axis::data    ? "data"
                                 : "pipeline";
}

std::string colour_note(const std::vector<Axis>& axes) {
  if (axes.empty()) return "";
  return fmt::format(
      "<p class=\"mix\">The drawing has the first nodes and the last. Ranks of one {}-parallel "
      "group have one colour. Consecutive ranks differ in {} first.</p>\n",
      words_for(axes.front()), name_of(axes.front()));
}

std::string placement_page(const Report& report) {
  if (!report.placement || !report.summary) return "";
  const PlacementPart& placement = *report.placement;
  const std::vector<Axis> axes = used_axes(report.summary->layout);
  std::string body = html::paragraph(placement.sentence);
  if (!placement.links.empty()) {
    body += html::figure(
                "links",
                "Time of sending on each link, as a share of the step, as if nothing overlapped "
                "with computing.",
                link_bars(placement)) +
            axes_table(placement.map, device_noun(report));
  }
  body += "<h3>Ranks by node</h3>\n" + nodes_drawing(placement.map, axes) + colour_note(axes) +
          html::details("Wiring of the machine", fmt::format("<pre tabindex=\"0\">{}</pre>\n",
                                                             html::lines(placement.wiring)));
  return html::section("topology", "Placement on the machine", body);
}

}  // namespace

extern const ReportSection kPlacementSection;
constexpr ReportSection kPlacementSection{.rows = placement_rows,
                                          .fill = fill_placement,
                                          .page = placement_page,
                                          .id = "topology",
                                          .word = "Placement",
                                          .charts = "links"};

}  // namespace meshwright::reports
