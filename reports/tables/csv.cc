// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

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

// {} prints the shortest digits that read back as the same number.
std::string field(double number) { return fmt::format("{}", number); }

std::string field(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return quoted(*text);
  if (const auto* number = std::get_if<double>(&cell)) return field(*number);
  return "";
}

// Field of a key; a cell that is one number has its column's.
std::string field(const Cell& cell, const std::string& key, const Column& column) {
  const auto* several = std::get_if<Numbers>(&cell);
  if (several == nullptr) return key == column.key ? field(cell) : "";
  for (const auto& [known, number] : several->by_key) {
    if (known == key) return field(number);
  }
  return "";
}

// Keys of the numbers of a column, in the order in which they come; empty: each cell is one field.
std::vector<std::string> keys_in(const Table& table, std::size_t column) {
  std::vector<std::string> keys;
  for (const auto& row : table.rows) {
    const auto* several = std::get_if<Numbers>(&row[column]);
    if (several == nullptr) continue;
    for (const auto& [key, number] : several->by_key) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

}  // namespace

std::string table_to_csv(const Table& table) {
  std::vector<std::vector<std::string>> lines(1 + table.rows.size());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    const std::vector<std::string> keys = keys_in(table, c);
    if (keys.empty()) lines.front().push_back(quoted(column.key));
    for (const std::string& key : keys) lines.front().push_back(quoted(key));
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const Cell& cell = table.rows[r][c];
      if (keys.empty()) lines[r + 1].push_back(field(cell));
      for (const std::string& key : keys) lines[r + 1].push_back(field(cell, key, column));
    }
  }
  std::string out;
  for (const auto& line : lines) out += fmt::format("{}\r\n", fmt::join(line, ","));
  return out;
}

}  // namespace meshwright::reports
