// SPDX-License-Identifier: Apache-2.0
#include "tests/accuracy/csv_rows.h"

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "sim/base/error.h"

namespace meshwright::accuracy {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  if (!line.empty() && line.back() == ',') cells.emplace_back();
  return cells;
}

}  // namespace

void for_each_row(const std::string& path, const std::function<void(const Row&)>& use) {
  std::ifstream file;
  if (path != "-") file.open(path);
  std::istream& in = path == "-" ? std::cin : file;
  std::string line;
  if (!std::getline(in, line)) throw InputError(path, "", "is empty or cannot be read");
  const std::vector<std::string> names = cells_of(line);
  for (int number = 2; std::getline(in, line); ++number) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != names.size()) {
      throw InputError(path, "",
                       fmt::format("line {} has {} columns, the first line {}", number,
                                   cells.size(), names.size()));
    }
    Row row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = cells[i];
    use(row);
  }
}

}  // namespace meshwright::accuracy
