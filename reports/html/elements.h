// SPDX-License-Identifier: Apache-2.0
// Small pieces of the page: tables with captions, bars that need neither script nor style, badges.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/tables/table.h"
#include "sim/layout/layout.h"

namespace meshwright::reports::html {

struct Heading {
  std::string text;
  bool number = false;  // its cells are right-aligned
};

// A cell's HTML, and the number behind its text where it has one: what the page sorts by and what
// its CSV files hold.
struct TableCell {
  TableCell(std::string text) : html(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  TableCell(const char* text) : html(text) {}             // NOLINT(google-explicit-constructor)
  TableCell(std::string text, double number) : html(std::move(text)), value(number) {}
  std::string html;
  std::optional<double> value{};
};
using TableRow = std::vector<TableCell>;
using TableRows = std::vector<TableRow>;

// The first cell of a row heads it.
std::string table(std::string_view caption, const std::vector<Heading>& headings,
                  const TableRows& rows);
// <tr>; `attributes` are of the row.
std::string table_row(const std::vector<Heading>& headings, const TableRow& cells,
                      std::string_view attributes = "");
// The table around rows that are written already.
std::string table_of_rows(std::string_view caption, const std::vector<Heading>& headings,
                          const std::string& rows);

// A table of ours; its texts are escaped.
std::string table(const Table& table);
// With this caption; empty where it has no rows.
std::string table(std::string_view caption, Table table);

std::string paragraph(const std::string& text);
std::string list(const std::vector<std::string>& items);
// Text of several lines: its line ends stay, what lies between them is escaped.
std::string lines(std::string_view text);

// A layout's brief name; the full one is told under the mouse.
std::string layout_code(const std::string& full, const std::string& brief);
std::string layout_code(const Layout& layout);

// "measured", "datasheet": solid for what was timed, dashed for what was not.
std::string badge(std::string_view provenance);

struct Segment {
  std::string name;  // decides colour and pattern
  double value = 0;
  std::string label;  // for the tooltip
};

// A stacked bar as inline SVG, drawn against `full`; `mark` > 0 draws a line there.
std::string bar(const std::vector<Segment>& segments, double full, double mark = 0.0);
// The colours' meaning, for the names that are given.
std::string legend(const std::vector<std::string>& names);
// Patterns that bars refer to; once a page.
std::string bar_patterns();

}  // namespace meshwright::reports::html
