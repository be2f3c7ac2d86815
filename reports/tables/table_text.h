// SPDX-License-Identifier: Apache-2.0
// A table and paragraphs on a screen of some width.
#pragma once

#include <string>
#include <vector>

#include "reports/tables/table.h"

namespace meshwright::reports {

// Aligned columns without repetition: numbers to the right, text to the left, nothing cut off.
// Where lines would be longer than `width` characters (0: any length), these steps are taken until
// they fit: headings are broken; extra columns are left out; texts are broken between words, but
// not below 20 characters; one row becomes a line per column; texts move to lines below their row;
// a table of numbers is turned, or becomes several tables.
std::string table_to_text(const Table& table, std::size_t width = 0);
// A paragraph's lines of at most `width` characters, broken between words, but not between a number
// and its unit; a word that is longer is
// broken too, after an underscore or another mark if it can be. 0: one line.
std::vector<std::string> broken_lines(const std::string& text, std::size_t width);

}  // namespace meshwright::reports
