// SPDX-License-Identifier: Apache-2.0
#include "reports/html/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/drawing.h"
#include "reports/html/escape.h"
#include "reports/text/text.h"
#include "sim/base/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports::html {
namespace {

constexpr double kBarWidth = 1000.0;
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

namespace {

std::string html_of(const std::string& text, const Column& column) {
  switch (column.face) {
    case Face::plain:
      return escape(text);
    case Face::code:
      return fmt::format("<code>{}</code>", replaced(escape(text), "_", "_<wbr>"));
    case Face::name:
      return escape(spoken(text));
    case Face::source:
      return badge(text);
  }
  return "";
}

}  // namespace

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
      const bool nothing = std::holds_alternative<std::monostate>(cells[c]);
      const std::string shown = cell_text(cells[c], table.columns[c]);
      const std::string text = nothing ? shown : html_of(shown, table.columns[c]);
      const auto* number = std::get_if<double>(&cells[c]);
      row.push_back(number != nullptr ? TableCell(text, *number) : TableCell(text));
    }
    rows.push_back(std::move(row));
  }
  return html::table(table.title, headings, rows);
}

std::string table(std::string_view caption, Table table) {
  if (table.rows.empty()) return "";
  table.title = caption;
  return html::table(table);
}

std::string paragraph(const std::string& text) { return fmt::format("<p>{}</p>\n", escape(text)); }

std::string list(const std::vector<std::string>& items) {
  std::string out = "<ul>\n";
  for (const std::string& item : items) out += fmt::format("<li>{}</li>\n", escape(item));
  return out + "</ul>\n";
}

std::string lines(std::string_view text) {
  std::string out;
  for (const std::string& line : split_lines(text)) out += escape(line) + "\n";
  return out;
}

std::string layout_code(const std::string& full, const std::string& brief) {
  if (full == brief) return fmt::format("<code>{}</code>", escape(brief));
  return fmt::format("<code title=\"{}\">{}</code>", escape(full), escape(brief));
}

std::string layout_code(const Layout& layout) {
  return layout_code(short_name(layout), brief_name(layout));
}

std::string badge(std::string_view provenance) {
  return fmt::format("<span class=\"badge {0}\">{0}</span>", escape(provenance));
}

std::string bar(const std::vector<Segment>& segments, double full, double mark) {
  std::string out = fmt::format(
      R"(<svg class="bar" viewBox="0 0 {} {}" width="100%" height="{}" preserveAspectRatio="none" role="img" aria-hidden="true">)",
      kBarWidth, kHeight, kHeight);
  double x = 0.0;
  for (const Segment& segment : segments) {
    // A file may state a part that is larger than the whole; the bar ends at its edge anyway.
    const double share = full > 0.0 ? std::clamp(segment.value / full, 0.0, 1.0) : 0.0;
    const double width = share * kBarWidth;
    if (width > 0.0) out += rectangle(paint_of(segment.name), x, width, escape(segment.label));
    x += width;
  }
  if (mark > 0.0 && full > 0.0) {
    out += fmt::format(
        R"(<line x1="{0:.2f}" x2="{0:.2f}" y1="0" y2="{1}" stroke="#c00" stroke-width="4"/>)",
        std::min(mark / full, 1.0) * kBarWidth - 2.0, kHeight);
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

std::string bar_patterns() {
  return R"(<svg width="0" height="0" class="patterns" aria-hidden="true"><defs>
<pattern id="pattern1" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M0 8L8 0" stroke="#fff" stroke-opacity=".55" stroke-width="1.5"/></pattern>
<pattern id="pattern2" width="6" height="6" patternUnits="userSpaceOnUse"><circle cx="3" cy="3" r="1.2" fill="#000" fill-opacity=".35"/></pattern>
<pattern id="pattern3" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M0 0L8 8" stroke="#000" stroke-opacity=".35" stroke-width="1.5"/></pattern>
</defs></svg>
)";
}

}  // namespace meshwright::reports::html
