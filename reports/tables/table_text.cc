// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "sim/base/text.h"
#include "sim/base/utf8.h"

namespace meshwright::reports {
namespace {

constexpr std::string_view kGap = "  ";
// A text that is broken into lines is at least this wide: words below each other are hard to read.
constexpr std::size_t kNarrowestText = 20;

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

std::string unglued(const std::string& text) { return replaced(text, kGlue, " "); }

// A column's cells as text, heading first.
struct TextColumn {
  std::vector<std::string> cells;
  bool number = false;
  bool extra = false;
  bool below = false;  // moved to lines below its row
  std::size_t width = 0;
};
using TextColumns = std::vector<TextColumn>;

std::size_t widest(const std::vector<std::string>& cells, std::size_t first) {
  std::size_t most = 0;
  for (std::size_t i = first; i < cells.size(); ++i) {
    most = std::max(most, num_characters(cells[i]));
  }
  return most;
}

std::size_t longest_word(const std::string& text) {
  std::size_t most = 0;
  for (const std::string& word : split(text, ' ')) most = std::max(most, num_characters(word));
  return most;
}

std::string heading_of(const Column& column) {
  if (column.unit.empty()) return column.heading;
  return fmt::format("{} [{}]", column.heading, replaced(column.unit, " ", kGlue));
}

TextColumn text_column(const Table& table, std::size_t place) {
  TextColumn column;
  column.number = holds_numbers(table, place);
  column.extra = table.columns[place].extra;
  column.cells.push_back(heading_of(table.columns[place]));
  for (const auto& row : table.rows) {
    column.cells.push_back(glued(printable(cell_text(row[place], table.columns[place]))));
  }
  return column;
}

std::size_t line_width(const TextColumns& columns) {
  std::size_t sum = columns.empty() ? 0 : (columns.size() - 1) * kGap.size();
  for (const TextColumn& column : columns) sum += column.width;
  return sum;
}

// With headings broken between words.
std::size_t compact_width(const TextColumn& column) {
  return std::max(widest(column.cells, 1), longest_word(column.cells.front()));
}

// With texts broken, too: no word is cut, and no text is narrower than kNarrowestText.
std::size_t least_width(const TextColumn& column) {
  if (column.number) return compact_width(column);
  std::size_t least = std::min(compact_width(column), kNarrowestText);
  for (const std::string& cell : column.cells) least = std::max(least, longest_word(cell));
  return least;
}

// Gives back what is left of a line to the headings that take most lines.
void widen_headings(TextColumns& columns, std::size_t limit) {
  const auto height = [](const TextColumn& column, std::size_t width) {
    return broken_lines(column.cells.front(), width).size();
  };
  for (bool widened = true; widened;) {
    const auto tallest = std::max_element(columns.begin(), columns.end(),
                                          [&](const TextColumn& a, const TextColumn& b) {
                                            return height(a, a.width) < height(b, b.width);
                                          });
    const std::size_t lines = height(*tallest, tallest->width);
    std::size_t width = tallest->width;
    while (lines > 1 && height(*tallest, width) == lines) ++width;
    const std::size_t more = width - tallest->width;
    widened = more > 0 && line_width(columns) + more <= limit;
    if (widened) tallest->width = width;
  }
}

// Sets widths so that a line has at most `limit` characters, with headings broken; false: it
// cannot be.
bool fit_headings(TextColumns& columns, std::size_t limit) {
  for (TextColumn& column : columns) column.width = widest(column.cells, 0);
  if (limit == 0 || line_width(columns) <= limit) return true;
  for (TextColumn& column : columns) column.width = compact_width(column);
  if (line_width(columns) > limit) return false;
  widen_headings(columns, limit);
  return true;
}

// The same with texts broken, too.
bool fit(TextColumns& columns, std::size_t limit) {
  if (fit_headings(columns, limit)) return true;
  while (line_width(columns) > limit) {
    TextColumn* longest = nullptr;  // of those that can still be narrower
    for (TextColumn& column : columns) {
      if (column.width <= least_width(column)) continue;
      if (longest == nullptr || column.width > longest->width) longest = &column;
    }
    if (longest == nullptr) return false;
    --longest->width;
  }
  return true;
}

// Leaves extra columns out, the last one first, until no text has to be broken.
bool fit_without_extras(TextColumns& columns, std::size_t limit) {
  while (!fit_headings(columns, limit)) {
    const auto last = std::find_if(columns.rbegin(), columns.rend(),
                                   [](const TextColumn& column) { return column.extra; });
    if (last == columns.rend()) return fit(columns, limit);
    columns.erase(std::next(last).base());
  }
  return true;
}

// One line a column: its heading, then the cell of each row.
TextColumns transposed(const TextColumns& columns) {
  TextColumns turned(columns.front().cells.size());
  for (std::size_t row = 0; row < turned.size(); ++row) {
    turned[row].number = row > 0 && std::all_of(columns.begin(), columns.end(),
                                                [](const auto& column) { return column.number; });
    for (const TextColumn& column : columns) turned[row].cells.push_back(column.cells[row]);
  }
  return turned;
}

std::string padded(const std::string& text, std::size_t to, bool right) {
  const std::string spaces(to - std::min(to, num_characters(text)), ' ');
  return right ? spaces + text : text + spaces;
}

// A row of the table: as many lines as its longest cell has.
void append_row(std::string& out, const TextColumns& columns, std::size_t row) {
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
    out += unglued(trimmed_right(line)) + "\n";
  }
}

// Appends the texts that were moved out of the columns, below their row. They share a line if they
// fit, else each has its own. A single such text has its heading below the other headings; several
// have it in front of them.
void append_below(std::string& out, const TextColumns& below, std::size_t row, std::size_t indent,
                  std::size_t limit) {
  if (row == 0 && below.size() > 1) return;
  std::vector<std::string> texts;
  for (const TextColumn& column : below) {
    const std::string& cell = column.cells[row];
    if (cell.empty() || cell == "-") continue;
    texts.push_back(below.size() > 1 ? fmt::format("{}: {}", column.cells.front(), cell) : cell);
  }
  std::string all;
  for (const std::string& text : texts) append_to_list(all, "; ", text);
  if (num_characters(all) + indent <= limit && !texts.empty()) texts = {all};
  for (const std::string& text : texts) {
    for (const std::string& line : broken_lines(text, limit - indent)) {
      out += std::string(indent, ' ') + unglued(line) + "\n";
    }
  }
}

std::string lines_of(const TextColumns& columns, const TextColumns& below, std::size_t limit) {
  const std::size_t indent = columns.front().number ? columns.front().width + kGap.size() : 4;
  std::string out;
  std::string rule;
  append_row(out, columns, 0);
  append_below(out, below, 0, indent, limit);
  for (const TextColumn& column : columns) {
    if (!rule.empty()) rule += kGap;
    rule.append(column.width, '-');
  }
  out += rule + "\n";
  for (std::size_t r = 1; r < columns.front().cells.size(); ++r) {
    append_row(out, columns, r);
    append_below(out, below, r, indent, limit);
  }
  return out;
}

// The text column that takes most room, but the first one; columns.size(): none.
std::size_t widest_text(const TextColumns& columns) {
  std::size_t most = columns.size();
  for (std::size_t c = 1; c < columns.size(); ++c) {
    if (columns[c].number || columns[c].below) continue;
    if (most == columns.size() || least_width(columns[c]) > least_width(columns[most])) most = c;
  }
  return most;
}

// Several tables below each other, each with the first column and as many others as a line holds.
std::string in_blocks(const TextColumns& columns, std::size_t limit) {
  std::string out;
  for (std::size_t next = 1; next < columns.size();) {
    TextColumns block{columns.front()};
    do {
      block.push_back(columns[next++]);
    } while (next < columns.size() && [&] {
      TextColumns more = block;
      more.push_back(columns[next]);
      return fit(more, limit);
    }());
    fit(block, limit);
    append_to_list(out, "\n", lines_of(block, {}, limit));
  }
  return out;
}

std::string body_text(TextColumns columns, std::size_t limit) {
  if (fit_without_extras(columns, limit)) return lines_of(columns, {}, limit);
  TextColumns named = columns;
  std::erase_if(named, [](const TextColumn& column) { return column.cells.front().empty(); });
  TextColumns turned = transposed(named);
  const bool one_row = turned.size() == 2;
  const bool can_turn = fit(turned, limit);
  if (one_row && can_turn) return lines_of(turned, {}, limit);
  for (std::size_t c = widest_text(columns); c < columns.size(); c = widest_text(columns)) {
    columns[c].below = true;
    TextColumns beside, below;
    for (const TextColumn& column : columns) (column.below ? below : beside).push_back(column);
    if (fit(beside, limit)) return lines_of(beside, below, limit);
  }
  return can_turn ? lines_of(turned, {}, limit) : in_blocks(columns, limit);
}

}  // namespace

std::vector<std::string> broken_lines(const std::string& text, std::size_t width) {
  constexpr std::string_view kBreakAfter = "_|+/,=";
  if (width == 0 || num_characters(text) <= width) return {text};
  std::vector<std::string> lines{""};
  for (std::string& word : split(glued(text), ' ')) {
    if (num_characters(word) > width) word = unglued(word);
    const std::size_t room = lines.back().empty() ? 0 : num_characters(lines.back()) + 1;
    if (room + num_characters(word) <= width) {
      lines.back() += (room > 0 ? " " : "") + word;
      continue;
    }
    if (!lines.back().empty()) lines.emplace_back();
    while (num_characters(word) > width) {  // names of one piece are ASCII
      const std::size_t mark = word.find_last_of(kBreakAfter, width - 1);
      const std::size_t cut = mark == std::string::npos ? width : mark + 1;
      lines.back() = word.substr(0, cut);
      word.erase(0, cut);
      lines.emplace_back();
    }
    lines.back() = word;
  }
  for (std::string& line : lines) line = unglued(line);
  return lines;
}

std::string table_to_text(const Table& table, std::size_t width) {
  const Table shown = without_repetition(table);
  std::string out;
  for (const std::string& line : split_lines(shown.title)) {
    for (const std::string& part : broken_lines(glued(printable(line)), width)) {
      out += unglued(part) + "\n";
    }
  }
  TextColumns columns;
  for (std::size_t c = 0; c < shown.columns.size(); ++c) columns.push_back(text_column(shown, c));
  return out + body_text(std::move(columns), width);
}

}  // namespace meshwright::reports
