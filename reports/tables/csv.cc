// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/csv.h"

#include <fmt/format.h>

#include <string_view>

namespace meshwright::reports {
namespace {

// RFC 4180, 2.5 to 2.7. A text that a spreadsheet would run as a formula is led by an apostrophe.
std::string quoted(const std::string& text) {
  std::string safe = text;
  if (!safe.empty() && std::string_view("=+-@\t\r").find(safe.front()) != std::string_view::npos) {
    safe.insert(safe.begin(), '\'');
  }
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string out = "\"";
  for (const char c : safe) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string field(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return quoted(*text);
  // {} prints the shortest digits that read back as the same number.
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{}", *number);
  return "";
}

}  // namespace

std::string table_to_csv(const Table& table) {
  std::vector<std::string> headings;
  for (const Column& column : table.columns) headings.push_back(quoted(column.key));
  std::string out = fmt::format("{}\r\n", fmt::join(headings, ","));
  for (const auto& row : table.rows) {
    std::vector<std::string> fields;
    for (const Cell& cell : row) fields.push_back(field(cell));
    out += fmt::format("{}\r\n", fmt::join(fields, ","));
  }
  return out;
}

}  // namespace meshwright::reports
