// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/text.h"

namespace meshwright::reports {
namespace {

constexpr std::string_view kGap = "  ";

// Characters, not bytes: continuation bytes of UTF-8 take no room.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// A line feed or an escape sequence in a name must not change the terminal.
std::string printable(const std::string& text) {
  std::string clean;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    clean += byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
  return clean;
}

std::string heading_of(const Column& column) {
  return column.unit.empty() ? column.heading : fmt::format("{} [{}]", column.heading, column.unit);
}

bool is_number(const Table& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return std::holds_alternative<double>(row[column]); });
}

std::string padded(const std::string& text, std::size_t to, bool right) {
  const std::string spaces(to - width(text), ' ');
  return right ? spaces + text : text + spaces;
}

void append_line(std::string& out, const std::vector<std::string>& cells) {
  std::string line = fmt::format("{}", fmt::join(cells, kGap));
  while (!line.empty() && line.back() == ' ') line.pop_back();
  out += line + "\n";
}

}  // namespace

std::string cell_text(const Cell& cell, const Column& column) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) {
    const bool whole = *number == std::floor(*number) && std::abs(*number) < 1e15;
    const bool count = column.unit.empty() && whole;
    return count ? std::to_string(static_cast<long long>(*number))
                 : significant(*number, column.digits);
  }
  return "-";
}

std::string table_to_text(const Table& table) {
  std::vector<std::vector<std::string>> lines(table.rows.size() + 1);
  std::vector<std::string> rule;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    const bool right = is_number(table, c);
    std::vector<std::string> cells{heading_of(column)};
    for (const auto& row : table.rows) cells.push_back(printable(cell_text(row[c], column)));
    std::size_t widest = 0;
    for (const std::string& cell : cells) widest = std::max(widest, width(cell));
    for (std::size_t r = 0; r < cells.size(); ++r) {
      lines[r].push_back(padded(cells[r], widest, right));
    }
    rule.emplace_back(widest, '-');
  }
  std::string out;
  if (!table.title.empty()) out += printable(table.title) + "\n";
  append_line(out, lines[0]);
  append_line(out, rule);
  for (std::size_t r = 1; r < lines.size(); ++r) append_line(out, lines[r]);
  return out;
}

}  // namespace meshwright::reports
