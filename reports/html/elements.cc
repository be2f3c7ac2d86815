// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/sections/sections_json.h"

namespace meshwright::reports::html {
namespace {

struct Paint {
  std::string_view name;
  std::string_view colour;
  int pattern;  // 0: plain; 1, 2, 3: so that neighbours differ without colour
};

// The viewer reads them from the page. Blue computes, warm colours communicate, grey waits.
constexpr std::array kPaints{
    Paint{"forward_compute", "#1f6fb4", 0},
    Paint{"backward_compute", "#5aa9e0", 1},
    Paint{"recompute", "#a9d3f0", 2},
    Paint{"tensor_parallel_communication", "#d1495b", 0},
    Paint{"context_parallel_communication", "#edae49", 1},
    Paint{"expert_parallel_communication", "#b5651d", 2},
    Paint{"pipeline_communication", "#8e5ea2", 3},
    Paint{"pipeline_bubble", "#9aa3ad", 1},
    Paint{"data_parallel_communication", "#e07b39", 3},
    Paint{"optimizer", "#3a9d6e", 0},
    Paint{"host", "#6b5b95", 1},
    Paint{"offload", "#7d6b5d", 2},
    Paint{"weights", "#1f6fb4", 0},
    Paint{"gradients", "#5aa9e0", 1},
    Paint{"activations", "#e07b39", 0},
    Paint{"recompute_workspace", "#a9d3f0", 2},
    Paint{"operator_workspace", "#edae49", 1},
    Paint{"logits", "#d1495b", 1},
    Paint{"communication_buffers", "#8e5ea2", 3},
    Paint{"reserve", "#9aa3ad", 1},
    Paint{"intra_node", "#3a9d6e", 0},
    Paint{"inter_node", "#e07b39", 1},
    Paint{"tensor", "#d1495b", 0},
    Paint{"context", "#edae49", 1},
    Paint{"expert", "#b5651d", 2},
    Paint{"expert_tensor", "#7d6b5d", 1},
    Paint{"pipeline", "#8e5ea2", 3},
    Paint{"data", "#e07b39", 3},
    Paint{"expert_data", "#3a9d6e", 1},
    Paint{"embedding", "#5aa9e0", 2},
    // Work of the timeline.
    Paint{"forward", "#1f6fb4", 0},
    Paint{"backward", "#5aa9e0", 0},
    Paint{"backward_input", "#5aa9e0", 0},
    Paint{"backward_weight", "#3a9d6e", 0},
    Paint{"tensor_communication", "#d1495b", 0},
    Paint{"context_communication", "#edae49", 1},
    Paint{"expert_communication", "#b5651d", 2},
    Paint{"message", "#8e5ea2", 3},
    Paint{"wait_for_parameters", "#e07b39", 3},
    Paint{"parameter_all-gather", "#e07b39", 3},
    Paint{"gradient_reduction", "#e07b39", 3},
    Paint{"last_bucket,_once_a_step", "#c25a1b", 3},
    Paint{"activation_offload", "#7d6b5d", 2},
    Paint{"host_launches", "#6b5b95", 1},
    Paint{"host,_once_a_step", "#6b5b95", 1},
};

const Paint& paint_of(std::string_view name) {
  static constexpr Paint kOther{"", "#777777", 0};
  for (const Paint& paint : kPaints) {
    if (paint.name == name) return paint;
  }
  return kOther;
}

constexpr double kWidth = 1000.0;
constexpr double kHeight = 20.0;

std::string rectangle(const Paint& paint, double x, double width, const std::string& title) {
  std::string out = fmt::format(
      R"(<rect x="{:.2f}" y="0" width="{:.2f}" height="{}" fill="{}"><title>{}</title></rect>)", x,
      width, kHeight, paint.colour, title);
  if (paint.pattern > 0) {
    out += fmt::format(
        R"svg(<rect x="{:.2f}" y="0" width="{:.2f}" height="{}" fill="url(#pattern{})" pointer-events="none"/>)svg",
        x, width, kHeight, paint.pattern);
  }
  return out;
}

}  // namespace

std::string text_at(const Json& json, std::string_view key) {
  const auto found = json.find(std::string(key));
  return found == json.end() || !found->is_string() ? "" : found->get<std::string>();
}

const Json& part_at(const Json& json, std::string_view key) {
  static const Json nothing;
  const auto found = json.find(std::string(key));
  return found == json.end() ? nothing : *found;
}

bool flag_at(const Json& json, std::string_view key) {
  const Json& flag = part_at(json, key);
  return flag.is_boolean() && flag.get<bool>();
}

double number_at(const Json& json, std::string_view key) {
  const auto found = json.find(std::string(key));
  if (found == json.end() || !found->is_number()) return 0.0;
  const auto number = found->get<double>();
  return std::isfinite(number) ? number : 0.0;  // as JSON has it: null
}

std::string table_row(const std::vector<Heading>& headings, const TableRow& cells,
                      std::string_view attributes) {
  std::string out = fmt::format("<tr{}>", attributes);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string with = i < headings.size() && headings[i].number ? " class=\"number\"" : "";
    if (cells[i].value && std::isfinite(*cells[i].value)) {
      with += fmt::format(" data-value=\"{:.7g}\"", *cells[i].value);
    }
    out += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", with, cells[i].html)
                  : fmt::format("<td{}>{}</td>", with, cells[i].html);
  }
  return out + "</tr>\n";
}

std::string table(std::string_view caption, const std::vector<Heading>& headings,
                  const TableRows& rows) {
  std::string text;
  for (const TableRow& row : rows) text += table_row(headings, row);
  return table_of_rows(caption, headings, text);
}

std::string table_of_rows(std::string_view caption, const std::vector<Heading>& headings,
                          const std::string& rows) {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">"
      "<table><caption>{0}</caption>\n<thead><tr>",
      escape(caption));
  for (const Heading& heading : headings) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", heading.number ? " class=\"number\"" : "",
                       escape(heading.text));
  }
  out += "</tr></thead>\n<tbody>\n" + rows;
  return out + "</tbody></table></div>\n";
}

std::string table(const Table& table) {
  std::vector<Heading> headings;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    const bool number = std::any_of(table.rows.begin(), table.rows.end(), [c](const auto& row) {
      return std::holds_alternative<double>(row[c]);
    });
    headings.push_back(
        {column.unit.empty() ? column.heading : column.heading + ", " + column.unit, number});
  }
  TableRows rows;
  for (const auto& cells : table.rows) {
    TableRow row;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string text = escape(cell_text(cells[c], table.columns[c]));
      const auto* number = std::get_if<double>(&cells[c]);
      row.push_back(number != nullptr ? TableCell(text, *number) : TableCell(text));
    }
    rows.push_back(std::move(row));
  }
  return html::table(table.title, headings, rows);
}

std::string paragraph(const std::string& text) { return fmt::format("<p>{}</p>\n", escape(text)); }

std::string list(const Json& items) {
  std::string out = "<ul>\n";
  for (const Json& item : items) {
    out += fmt::format("<li>{}</li>\n", escape(item.get<std::string>()));
  }
  return out + "</ul>\n";
}

std::string lines(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += escape(text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return out;
}

std::string layout_code(const Json& named) {
  const std::string full = text_at(named, "short_name");
  const std::string brief = text_at(named, "brief_name");
  return fmt::format("<code title=\"{}\">{}</code>", escape(full),
                     escape(brief.empty() ? full : brief));
}

std::string badge(std::string_view provenance) {
  return fmt::format("<span class=\"badge {0}\">{0}</span>", escape(provenance));
}

std::string bar(const std::vector<Segment>& segments, double full, double mark) {
  std::string out = fmt::format(
      R"(<svg class="bar" viewBox="0 0 {} {}" width="100%" height="{}" preserveAspectRatio="none" role="img" aria-hidden="true">)",
      kWidth, kHeight, kHeight);
  double x = 0.0;
  for (const Segment& segment : segments) {
    const double width = full > 0.0 ? std::max(0.0, segment.value) / full * kWidth : 0.0;
    if (width > 0.0) out += rectangle(paint_of(segment.name), x, width, escape(segment.label));
    x += width;
  }
  if (mark > 0.0 && full > 0.0) {
    out += fmt::format(
        R"(<line x1="{0:.2f}" x2="{0:.2f}" y1="0" y2="{1}" stroke="#c00" stroke-width="4"/>)",
        std::min(mark / full, 1.0) * kWidth - 2.0, kHeight);
  }
  return out + "</svg>";
}

std::string legend(const std::vector<std::string>& names) {
  std::string out = "<ul class=\"legend\">";
  for (const std::string& name : names) {
    const Paint& paint = paint_of(name);
    out += fmt::format(
        R"(<li><svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">{}</svg> {}</li>)",
        rectangle(paint, 0.0, 16.0, ""), escape(spoken(name)));
  }
  return out + "</ul>\n";
}

Json palette() {
  Json all = Json::array();
  for (const Paint& paint : kPaints) {
    all.push_back({{"name", paint.name}, {"colour", paint.colour}, {"pattern", paint.pattern}});
  }
  return all;
}

std::string bar_patterns() {
  return R"(<svg width="0" height="0" class="patterns" aria-hidden="true"><defs>
<pattern id="pattern1" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M0 8L8 0" stroke="#fff" stroke-opacity=".55" stroke-width="1.5"/></pattern>
<pattern id="pattern2" width="6" height="6" patternUnits="userSpaceOnUse"><circle cx="3" cy="3" r="1.2" fill="#000" fill-opacity=".35"/></pattern>
<pattern id="pattern3" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M0 0L8 8" stroke="#000" stroke-opacity=".35" stroke-width="1.5"/></pattern>
</defs></svg>
)";
}

}  // namespace meshwright::reports::html
