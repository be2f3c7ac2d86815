// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/markdown.h"

#include <fmt/format.h>

#include <string_view>

namespace meshwright::reports {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      out += ' ';
      continue;
    }
    if (std::string_view("\\|`*<>[]").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string table_to_markdown(const Table& table) {
  std::string out;
  if (!table.title.empty()) out += fmt::format("### {}\n\n", escaped(table.title));
  std::string headings = "|";
  std::string rule = "|";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    headings += fmt::format(" {}{} |", escaped(column.heading),
                            column.unit.empty() ? "" : ", " + escaped(column.unit));
    rule += holds_numbers(table, c) ? " ---: |" : " --- |";
  }
  out += headings + "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (std::size_t c = 0; c < row.size(); ++c) {
      out += fmt::format(" {} |", escaped(cell_text(row[c], table.columns[c])));
    }
    out += "\n";
  }
  return out;
}

}  // namespace meshwright::reports
