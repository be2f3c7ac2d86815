// SPDX-License-Identifier: Apache-2.0
// One table, three faces: aligned text for the terminal, CSV for spreadsheets, Markdown for
// documents. A column has one unit for all its rows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/units.h"

namespace meshwright::reports {

// Style of a column's texts on the page: plain; code; a name whose underscores become blanks; or a
// source, with a badge that separates measured from other numbers.
enum class Face { plain, code, name, source };

struct Column {
  std::string key{};                      // CSV heading: snake_case, with the unit
  std::string heading{};                  // for people
  std::string unit{};                     // shown with the heading; empty: none
  int digits = 4;                         // significant, for people; CSV has them all
  bool extra = false;                     // left out of lines that are too long otherwise
  std::string (*text)(double) = nullptr;  // for people, in place of digits
  Face face = Face::plain;
};

// Several numbers that people read as one text, "2 (1-3)": CSV has a column for each key.
struct Numbers {
  std::string text{};
  std::vector<std::pair<std::string, double>> by_key{};
  bool operator==(const Numbers&) const = default;
};
// Text, a number in the column's unit, several of them, or nothing.
using Cell = std::variant<std::monostate, std::string, double, Numbers>;
Cell optional_cell(const std::optional<double>& value);
// Nothing for 0.
Cell time_in_ms(Seconds time);

struct Table {
  std::string title;  // lines
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::string name{};  // by which --table asks for it; empty: it is the only one
};
Table named(std::string name, Table table);
// Appends the rows to the table of the same name, whose columns become those of both.
void add_rows(std::vector<Table>& tables, Table more);
// The table without the columns that no row fills; with all of them if it has no rows.
Table without_empty_columns(Table table);
// Without the columns of numbers that are 0 in every row.
Table without_zero_columns(Table table);
// Without the columns of these keys.
Table without_columns(Table table, std::span<const std::string_view> keys);
// The same for people: a column whose cells are all alike, or those of a column of the same unit
// before it, is a line of the title. A table of one row keeps all columns that it fills.
Table without_repetition(Table table);
bool holds_numbers(const Table& table, std::size_t column);

// A cell for people; nothing is "-".
std::string cell_text(const Cell& cell, const Column& column);

}  // namespace meshwright::reports
