// SPDX-License-Identifier: Apache-2.0
// Comma-separated text as rows of cells (RFC 4180: quoted cells, doubled quotes, LF or CRLF).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::interop {

// A row is a measured run; nobody has taken as many.
inline constexpr std::size_t kMostRows = 10'000;

struct CsvTable {
  std::string file;
  std::vector<std::string> columns;  // the first row
  // A row may have another number of cells than the header: one bad row is no bad table.
  std::vector<std::vector<std::string>> rows;
  std::vector<int> lines;  // where each row begins
};

// A byte-order mark and empty lines are passed over. Throws InputError: no header, a column named
// twice, more than kMostRows, a quote that is never closed.
CsvTable read_csv(std::string_view text, const std::string& file);

}  // namespace meshwright::interop
