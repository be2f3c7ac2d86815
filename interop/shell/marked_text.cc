// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/marked_text.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace meshwright::interop {

namespace {

// Text without a byte-order mark.
std::string_view unmarked(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

}  // namespace

MarkedText::MarkedText(std::string_view text, int first_line) {
  int line = first_line;
  for (const char c : unmarked(text)) {
    if (c == '\r') continue;
    add(c, line);
    if (c == '\n') ++line;
  }
}

MarkedText MarkedText::on_line(std::string_view text, int line) {
  MarkedText marked;
  for (const char c : unmarked(text)) {
    if (c != '\r') marked.add(c, line);
  }
  return marked;
}

void MarkedText::add(const MarkedText& other) {
  text_ += other.text_;
  marks_.insert(marks_.end(), other.marks_.begin(), other.marks_.end());
}

void MarkedText::add_unknown(std::string_view text, int line) {
  for (const char c : text) add(c, line, true);
}

int MarkedText::line_at(std::size_t i) const {
  if (marks_.empty()) return 0;
  return std::abs(marks_[std::min(i, marks_.size() - 1)]);
}

bool MarkedText::unknown() const {
  return std::any_of(marks_.begin(), marks_.end(), [](int mark) { return mark < 0; });
}

MarkedText MarkedText::part(std::size_t begin, std::size_t end) const {
  MarkedText piece;
  end = std::min(end, size());
  for (std::size_t i = begin; i < end; ++i) piece.add(text_[i], line_at(i), unknown_at(i));
  return piece;
}

std::vector<MarkedText> MarkedText::fields() const {
  std::vector<MarkedText> found;
  const auto blank = [&](std::size_t i) {
    return !unknown_at(i) && std::isspace(static_cast<unsigned char>(text_[i])) != 0;
  };
  for (std::size_t begin = 0; begin < size();) {
    if (blank(begin)) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < size() && !blank(end)) ++end;
    found.push_back(part(begin, end));
    begin = end;
  }
  return found;
}

}  // namespace meshwright::interop
