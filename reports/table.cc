// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>

#include "reports/text.h"
#include "sim/base/text.h"
#include "sim/base/utf8.h"

namespace meshwright::reports {
namespace {

constexpr std::string_view kGap = "  ";

// A line feed or an escape sequence in a name must not change the terminal.
std::string printable(const std::string& text) {
  std::string clean;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    clean += byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
  return clean;
}

// A space that lines do not break at: U+00A0, until the line is written.
constexpr std::string_view kGlue = "\xC2\xA0";

bool is_unit(std::string_view word) {
  constexpr std::array<std::string_view, 34> kUnits{
      "%",   "s",   "ms",  "us",  "µs",   "h",       "days", "B",     "KiB",  "MiB",  "GiB", "TiB",
      "kB",  "MB",  "GB",  "TB",  "k",    "M",       "G",    "T",     "W",    "kW",   "MW",  "kWh",
      "MWh", "GWh", "USD", "EUR", "GPUs", "TFLOP/s", "GPU",  "nodes", "core", "cores"};
  while (!word.empty() && (word.back() == ')' || word.back() == ',' || word.back() == ';')) {
    word.remove_suffix(1);
  }
  return word.ends_with("B/s") || std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
}

// "12.3 GiB" and "66 M USD" stay on a line.
std::string glued(const std::string& text) {
  std::string out;
  bool first = true;
  bool counts = false;  // the word before is a number, or one with its unit
  for (const std::string& word : split(text, ' ')) {
    const bool unit = counts && is_unit(word);
    if (!first) out += unit ? kGlue : std::string_view(" ");
    first = false;
    out += word;
    counts = unit || (!word.empty() && std::isdigit(static_cast<unsigned char>(word.back())) != 0);
  }
  return out;
}

std::string heading_of(const Column& column) {
  if (column.unit.empty()) return column.heading;
  return fmt::format("{} [{}]", column.heading, replaced(column.unit, " ", kGlue));
}

bool is_number(const Table& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return std::holds_alternative<double>(row[column]); });
}

std::string padded(const std::string& text, std::size_t to, bool right) {
  const std::string spaces(to - num_characters(text), ' ');
  return right ? spaces + text : text + spaces;
}

// A column's cells as text, heading first.
struct TextColumn {
  std::vector<std::string> cells;
  bool number = false;
  std::size_t width = 0;
};

std::size_t widest(const std::vector<std::string>& cells, std::size_t first) {
  std::size_t most = 0;
  for (std::size_t i = first; i < cells.size(); ++i)
    most = std::max(most, num_characters(cells[i]));
  return most;
}

std::size_t longest_word(const std::string& text) {
  std::size_t most = 0;
  for (const std::string& word : split(text, ' ')) most = std::max(most, num_characters(word));
  return most;
}

std::vector<TextColumn> text_columns(const Table& table) {
  std::vector<TextColumn> columns(table.columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    TextColumn& column = columns[c];
    column.number = is_number(table, c);
    column.cells.push_back(heading_of(table.columns[c]));
    for (const auto& row : table.rows) {
      column.cells.push_back(glued(printable(cell_text(row[c], table.columns[c]))));
    }
    column.width = widest(column.cells, 0);
  }
  return columns;
}

std::size_t line_width(const std::vector<TextColumn>& columns) {
  std::size_t sum = columns.empty() ? 0 : (columns.size() - 1) * kGap.size();
  for (const TextColumn& column : columns) sum += column.width;
  return sum;
}

void fit(std::vector<TextColumn>& columns, std::size_t limit) {
  constexpr std::size_t kNarrowest = 10;  // of a broken text
  if (limit == 0 || line_width(columns) <= limit) return;
  for (TextColumn& column : columns) {
    column.width = std::max(widest(column.cells, 1), longest_word(column.cells.front()));
  }
  while (line_width(columns) > limit) {
    const auto longest =
        std::max_element(columns.begin(), columns.end(), [](const auto& a, const auto& b) {
          return (a.number ? 0 : a.width) < (b.number ? 0 : b.width);
        });
    if (longest->number || longest->width <= kNarrowest) return;
    --longest->width;
  }
}

// A row of the table: as many lines as its longest cell has.
void append_row(std::string& out, const std::vector<TextColumn>& columns, std::size_t row) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const TextColumn& column : columns) {
    cells.push_back(broken_lines(column.cells[row], column.width));
    height = std::max(height, cells.back().size());
  }
  for (std::size_t i = 0; i < height; ++i) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) line += kGap;
      line += padded(i < cells[c].size() ? cells[c][i] : "", columns[c].width, columns[c].number);
    }
    out += replaced(trimmed_right(line), kGlue, " ") + "\n";
  }
}

}  // namespace

Table without_empty_columns(Table table) {
  if (table.rows.empty()) return table;
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    const bool filled = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return !std::holds_alternative<std::monostate>(row[c]);
    });
    if (filled) continue;
    const auto place = static_cast<std::ptrdiff_t>(c);
    table.columns.erase(table.columns.begin() + place);
    for (auto& row : table.rows) row.erase(row.begin() + place);
  }
  return table;
}

Cell optional_cell(const std::optional<double>& value) {
  if (!value) return {};
  return *value;
}

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

std::vector<std::string> broken_lines(const std::string& text, std::size_t width) {
  if (width == 0 || num_characters(text) <= width) return {text};
  std::vector<std::string> lines{""};
  for (std::string& word : split(text, ' ')) {
    const std::size_t room = lines.back().empty() ? 0 : num_characters(lines.back()) + 1;
    if (room + num_characters(word) <= width) {
      lines.back() += (room > 0 ? " " : "") + word;
      continue;
    }
    if (!lines.back().empty()) lines.emplace_back();
    while (num_characters(word) > width) {  // names of one piece are ASCII
      const std::size_t underscore = word.rfind('_', width - 1);
      const std::size_t cut = underscore == std::string::npos ? width : underscore + 1;
      lines.back() = word.substr(0, cut);
      word.erase(0, cut);
      lines.emplace_back();
    }
    lines.back() = word;
  }
  return lines;
}

std::string table_to_text(const Table& table, std::size_t width) {
  std::vector<TextColumn> columns = text_columns(table);
  fit(columns, width);
  std::string out;
  if (!table.title.empty()) {
    for (const std::string& line : broken_lines(printable(table.title), width)) out += line + "\n";
  }
  append_row(out, columns, 0);
  std::string rule;
  for (const TextColumn& column : columns) {
    if (!rule.empty()) rule += kGap;
    rule.append(column.width, '-');
  }
  out += rule + "\n";
  for (std::size_t r = 1; r <= table.rows.size(); ++r) append_row(out, columns, r);
  return out;
}

}  // namespace meshwright::reports
