// SPDX-License-Identifier: Apache-2.0
// One table, three faces: aligned text for the terminal, CSV for spreadsheets, Markdown for
// documents. A column has one unit for all its rows.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace meshwright::reports {

struct Column {
  std::string key;      // CSV heading: snake_case, with the unit
  std::string heading;  // for people
  std::string unit;     // shown with the heading; empty: none
  int digits = 4;       // significant, for people; CSV has them all
};

// Text, a number in the column's unit, or nothing.
using Cell = std::variant<std::monostate, std::string, double>;
Cell optional_cell(const std::optional<double>& value);

struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};
// The table without the columns that no row fills; with all of them if it has no rows.
Table without_empty_columns(Table table);

// A cell for people; nothing is "-".
std::string cell_text(const Cell& cell, const Column& column);

// Aligned columns, never cut off: numbers to the right, text to the left. Where the lines would be
// longer than `width` characters, headings are broken into lines, then texts, the longest first; 0:
// any length.
std::string table_to_text(const Table& table, std::size_t width = 0);
// A paragraph's lines of at most `width` characters, broken between words; a word that is longer is
// broken too, after an underscore if it can be. 0: one line.
std::vector<std::string> broken_lines(const std::string& text, std::size_t width);

}  // namespace meshwright::reports
