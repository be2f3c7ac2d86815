// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/text/text.h"
#include "sim/base/text.h"

namespace meshwright::reports {
namespace {

bool is_nothing(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text != nullptr ? text->empty() : std::holds_alternative<std::monostate>(cell);
}

void erase_column(Table& table, std::size_t place) {
  const auto offset = static_cast<std::ptrdiff_t>(place);
  table.columns.erase(table.columns.begin() + offset);
  for (auto& row : table.rows) row.erase(row.begin() + offset);
}

std::vector<std::string> texts_of(const Table& table, std::size_t column) {
  std::vector<std::string> texts;
  for (const auto& row : table.rows) texts.push_back(cell_text(row[column], table.columns[column]));
  return texts;
}

// "link intra_node", "payload 67.1 MB".
std::string shared_text(const Column& column, const std::string& cell) {
  return fmt::format("{} {}{}{}", column.heading, cell, column.unit.empty() ? "" : " ",
                     column.unit);
}

}  // namespace

Table named(std::string name, Table table) {
  table.name = std::move(name);
  return table;
}

void add_rows(std::vector<Table>& tables, Table more) {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const Table& table) { return table.name == more.name; });
  if (found == tables.end()) {
    tables.push_back(std::move(more));
    return;
  }
  std::vector<std::size_t> places;
  for (Column& column : more.columns) {
    const auto known = std::find_if(found->columns.begin(), found->columns.end(),
                                    [&](const Column& other) { return other.key == column.key; });
    places.push_back(static_cast<std::size_t>(known - found->columns.begin()));
    if (known == found->columns.end()) found->columns.push_back(std::move(column));
  }
  for (auto& row : found->rows) row.resize(found->columns.size());
  for (auto& row : more.rows) {
    std::vector<Cell>& added = found->rows.emplace_back(found->columns.size());
    for (std::size_t c = 0; c < row.size(); ++c) added[places[c]] = std::move(row[c]);
  }
}

Table without_empty_columns(Table table) {
  if (table.rows.empty()) return table;
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    const bool filled = std::any_of(table.rows.begin(), table.rows.end(),
                                    [&](const auto& row) { return !is_nothing(row[c]); });
    if (!filled) erase_column(table, c);
  }
  return table;
}

Table without_zero_columns(Table table) {
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    const bool zeros = std::all_of(table.rows.begin(), table.rows.end(), [c](const auto& row) {
      const auto* number = std::get_if<double>(&row[c]);
      return number != nullptr && *number == 0.0;
    });
    if (zeros) erase_column(table, c);
  }
  return table;
}

Table without_columns(Table table, std::span<const std::string_view> keys) {
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    const std::string& key = table.columns[c].key;
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) erase_column(table, c);
  }
  return table;
}

Table without_repetition(Table table) {
  table = without_empty_columns(std::move(table));
  if (table.rows.size() < 2) return table;
  std::string shared;
  std::string repeated;
  std::vector<std::vector<std::string>> kept;
  std::vector<std::size_t> dropped;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    const std::vector<std::string> texts = texts_of(table, c);
    const bool alike = std::all_of(texts.begin(), texts.end(),
                                   [&](const std::string& text) { return text == texts.front(); });
    const auto before = std::find(kept.begin(), kept.end(), texts);
    const auto place = static_cast<std::size_t>(before - kept.begin());
    kept.push_back(texts);
    if (alike) {
      append_to_list(shared, "; ", shared_text(column, texts.front()));
    } else if (place < c && table.columns[place].unit == column.unit) {
      append_to_list(repeated, "; ",
                     fmt::format("{} = {}", column.heading, table.columns[place].heading));
    } else {
      continue;
    }
    dropped.push_back(c);
  }
  if (dropped.size() == table.columns.size()) return table;  // rows that are all alike
  for (auto place = dropped.rbegin(); place != dropped.rend(); ++place) erase_column(table, *place);
  if (!shared.empty()) append_to_list(table.title, "\n", "all rows: " + shared);
  if (!repeated.empty()) append_to_list(table.title, "\n", "equal columns: " + repeated);
  return table;
}

bool holds_numbers(const Table& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return std::holds_alternative<double>(row[column]); });
}

Cell optional_cell(const std::optional<double>& value) {
  if (!value) return {};
  return *value;
}

Cell time_in_ms(Seconds time) { return time.value() > 0.0 ? Cell(time / milliseconds(1)) : Cell(); }

std::string cell_text(const Cell& cell, const Column& column) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* several = std::get_if<Numbers>(&cell)) return several->text;
  if (const auto* number = std::get_if<double>(&cell)) {
    if (column.text != nullptr) return column.text(*number);
    const bool whole = *number == std::floor(*number) && std::abs(*number) < 1e15;
    return column.unit.empty() && whole ? count_text(static_cast<std::int64_t>(*number))
                                        : significant(*number, column.digits);
  }
  return "-";
}

}  // namespace meshwright::reports
