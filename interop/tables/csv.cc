// SPDX-License-Identifier: Apache-2.0
#include "interop/tables/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Walks over the text once and hands out one row after the other.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] int line() const { return line_; }

  std::vector<std::string> row() {
    std::vector<std::string> cells{cell()};
    while (!done() && text_[at_] == ',') {
      ++at_;
      cells.push_back(cell());
    }
    if (!done() && text_[at_] == '\r') ++at_;
    if (!done() && text_[at_] == '\n') ++at_;
    ++line_;
    return cells;
  }

 private:
  std::string cell() { return !done() && text_[at_] == '"' ? quoted() : plain(); }

  std::string plain() {
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string found(text_.substr(at_, end - at_));
    at_ = end;
    return found;
  }

  std::string quoted() {
    std::string found;
    const int opened = line_;
    for (++at_; !done(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        found += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        found += text_[at_++];
      } else {
        ++at_;
        return found;
      }
    }
    throw InputError(file_, "", fmt::format("line {}: a quote is never closed", opened));
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

void check_header(const std::vector<std::string>& columns, const std::string& file) {
  std::set<std::string> names;
  for (const std::string& column : columns) {
    if (names.insert(column).second) continue;
    throw InputError(file, "", fmt::format("column \"{}\" is a duplicate of another one", column));
  }
}

}  // namespace

CsvTable read_csv(std::string_view text, const std::string& file) {
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    text.remove_prefix(kByteOrderMark.size());
  CsvScanner scanner(text, file);
  CsvTable table{.file = file, .columns = {}, .rows = {}, .lines = {}};
  while (!scanner.done()) {
    const int line = scanner.line();
    std::vector<std::string> cells = scanner.row();
    if (cells.size() == 1 && cells.front().empty()) continue;
    if (table.columns.empty()) {
      table.columns = std::move(cells);
      check_header(table.columns, file);
      continue;
    }
    if (table.rows.size() == kMostRows) {
      throw InputError(file, "", fmt::format("line {}: at most {} rows are read", line, kMostRows));
    }
    table.rows.push_back(std::move(cells));
    table.lines.push_back(line);
  }
  if (table.columns.empty()) throw InputError(file, "", "must start with a row of column names");
  return table;
}

}  // namespace meshwright::interop
