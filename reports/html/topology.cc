// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "reports/html/drawing_json.h"
#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/base/text.h"

namespace meshwright::reports::html {
namespace {

constexpr int kCellsARow = 9;  // of an NVL72 rack: eight rows
constexpr double kRowLabel = 110.0;
constexpr double kCellHeight = 38.0;
constexpr double kDrawingWidth = 1000.0;

int size_of(const Json& layout, const std::string& axis) {
  static const std::map<std::string, std::string> sizes{{"tp", "tensor_parallel_size"},
                                                        {"cp", "context_parallel_size"},
                                                        {"dp", "data_parallel_size"},
                                                        {"pp", "pipeline_parallel_size"}};
  const auto found = sizes.find(axis);
  return found == sizes.end() ? 1 : std::max(1, static_cast<int>(number_at(layout, found->second)));
}

// Axes of more than one rank, innermost first.
std::vector<std::string> used_axes(const Json& placement, const Json& layout) {
  std::vector<std::string> axes;
  for (const Json& axis : placement["rank_order"]) {
    const auto name = axis.get<std::string>();
    if (size_of(layout, name) > 1) axes.push_back(name);
  }
  return axes;
}

std::string place_text(const Json& rank, const std::vector<std::string>& axes) {
  std::string text;
  for (const std::string& axis : axes) {
    append_to_list(text, " ", fmt::format("{}{}", axis, number_at(rank, axis)));
  }
  return text;
}

// Ranks that differ only along the innermost axis share a colour.
std::size_t tint_of(const Json& rank, const std::vector<std::string>& axes,
                    std::map<std::string, std::size_t>& tints) {
  const std::vector<std::string> outer(axes.empty() ? axes.begin() : axes.begin() + 1, axes.end());
  const std::string group = place_text(rank, outer);
  return tints.emplace(group, tints.size() % kTints.size()).first->second;
}

std::string cell(double x, double y, double width, const Tint& tint, const Json& rank,
                 const std::string& place) {
  return fmt::format(
      R"(<g><title>rank {0:.0f}: {1}</title><rect x="{2:.1f}" y="{3:.1f}" width="{4:.1f}" height="{5}" rx="3" fill="{6}"/>)"
      R"(<text x="{7:.1f}" y="{8:.1f}" fill="{9}" text-anchor="middle" font-size="11">rank {0:.0f}</text><text x="{7:.1f}" y="{10:.1f}" fill="{9}" text-anchor="middle" font-size="11">{1}</text></g>)",
      number_at(rank, "rank"), place, x, y, width - 4.0, kCellHeight - 4.0, tint.colour,
      x + (width - 4.0) / 2.0, y + 14.0, tint.text, y + 28.0);
}

// The first nodes and the last, a row a node (several, where a node holds many).
std::string drawing(const Json& placement, const std::vector<std::string>& axes) {
  std::map<std::string, std::size_t> tints;
  std::string cells;
  double y = 4.0;
  double last = -1.0;
  for (const Json& node : placement["nodes"]) {
    const double number = number_at(node, "node");
    if (last >= 0.0 && number > last + 1.0) {
      cells += fmt::format(R"(<text class="row" x="0" y="{:.1f}">⋮</text>)", y + 12.0);
      y += 20.0;
    }
    last = number;
    cells +=
        fmt::format(R"(<text class="row" x="0" y="{:.1f}">node {:.0f}</text>)", y + 21.0, number);
    const int across = std::min<int>(kCellsARow, static_cast<int>(node["ranks"].size()));
    const double width = std::min((kDrawingWidth - kRowLabel) / across, 160.0);
    int index = 0;
    for (const Json& rank : node["ranks"]) {
      const int row = index / across;
      cells += cell(kRowLabel + (index % across) * width, y + row * kCellHeight, width,
                    kTints[tint_of(rank, axes, tints)], rank, place_text(rank, axes));
      ++index;
    }
    const int rows = (index + across - 1) / across;
    y += kCellHeight * rows + 6.0;
  }
  return fmt::format(
      R"(<div class="scroll" tabindex="0" role="region" aria-label="Ranks on the first nodes and the last"><svg class="placement" viewBox="0 0 {0} {1:.0f}" width="{0}" role="img" aria-label="Ranks on the first nodes and the last">{2}</svg></div>)"
      "\n",
      kDrawingWidth, y, cells);
}

std::string where(const Json& axis) {
  const double nodes = number_at(axis, "num_nodes");
  if (nodes <= 1.0) return "inside a node";
  return fmt::format("{:.0f} in each of {:.0f} nodes", number_at(axis, "ranks_per_node"), nodes);
}

std::string axes_table(const Json& placement, std::string_view noun) {
  TableRows rows;
  for (const Json& axis : placement["axes"]) {
    rows.push_back({escape(spoken(text_at(axis, "group"))),
                    fmt::format("{:.0f}", number_at(axis, "group_size")), where(axis),
                    escape(text_at(axis, "link")),
                    significant(number_at(axis, "sent_per_step_bytes") / 1e9),
                    fmt::format("{:.1f}", number_at(axis, "share_of_step") * 100.0)});
  }
  return table("Where each group's ranks sit, and how long its traffic keeps the link busy",
               {{"group"},
                {"ranks", true},
                {"its ranks are"},
                {"link"},
                {fmt::format("sent per {} and step, GB", noun), true},
                {"link busy, % of the step", true}},
               rows);
}

double axis_share(const Json& placement, const Json& group, const std::string& tier) {
  for (const Json& axis : placement["axes"]) {
    if (axis["group"] == group && text_at(axis, "tier") == tier) {
      return number_at(axis, "share_of_step");
    }
  }
  return 0.0;
}

std::string link_bars(const Json& placement) {
  double most = 0.0;
  for (const Json& link : placement["links"])
    most = std::max(most, number_at(link, "share_of_step"));
  TableRows rows;
  std::vector<std::string> names;
  for (const Json& link : placement["links"]) {
    std::vector<Segment> segments;
    for (const Json& group : link["groups"]) {
      const auto name = group.get<std::string>();
      const double share = axis_share(placement, group, text_at(link, "tier"));
      segments.push_back({name, share, fmt::format("{}: {}", spoken(name), percent_text(share))});
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    rows.push_back(
        {fmt::format("{}, {}", escape(text_at(link, "link")),
                     text_at(link, "tier") == "intra_node" ? "inside a node" : "between nodes"),
         bar(segments, most), fmt::format("{:.1f}", number_at(link, "share_of_step") * 100.0)});
  }
  return "<div class=\"bars\">" +
         table("How busy the winner keeps each link",
               {{"link"}, {"by group"}, {"% of the step", true}}, rows) +
         "</div>" + legend(names);
}

std::string words_for(const std::string& axis) {
  return axis == "tp" ? "tensor" : axis == "cp" ? "context" : axis == "dp" ? "data" : "pipeline";
}

std::string colour_note(const std::vector<std::string>& axes) {
  if (axes.empty()) return "";
  return fmt::format(
      "<p class=\"mix\">The first nodes and the last. Ranks of one {}-parallel group have one "
      "colour; "
      "neighbours in number differ in {} first.</p>\n",
      words_for(axes.front()), axes.front());
}

}  // namespace

std::string topology(const Json& report) {
  const Json& placement = report["placement"];
  if (!placement.is_object()) return "";
  const std::vector<std::string> axes = used_axes(placement, report["summary"]["layout"]);
  std::string body = fmt::format("<p>{}</p>\n", escape(text_at(placement, "sentence")));
  if (!placement["links"].empty()) {
    body += figure("links",
                   "Time that sending takes on each link, as a share of the step, were none of it "
                   "overlapped with computing.",
                   link_bars(placement)) +
            axes_table(placement, device_noun(report));
  }
  body += "<h3>Which rank sits where</h3>\n" + drawing(placement, axes) + colour_note(axes);
  body += details("How the machine is wired", fmt::format("<pre tabindex=\"0\">{}</pre>\n",
                                                          lines(text_at(placement, "wiring"))));
  return section("topology", "Placement on the machine", body);
}

}  // namespace meshwright::reports::html
