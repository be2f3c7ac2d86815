// SPDX-License-Identifier: Apache-2.0
// Text of which every character knows the line that it was typed in, and whether it stands for
// something that nobody knows: what a script says keeps its line through variables and arrays.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::interop {

class MarkedText {
 public:
  MarkedText() = default;
  // Lines are counted from `first_line`. A byte-order mark and carriage returns are left out.
  explicit MarkedText(std::string_view text, int first_line = 1);
  // All of it has one line, as a file has that is read in place of a command.
  static MarkedText on_line(std::string_view text, int line);

  void add(char c, int line, bool unknown = false) {
    text_.push_back(c);
    marks_.push_back(unknown ? -line : line);
  }
  void add(const MarkedText& other);
  // All of it stands for something unknown.
  void add_unknown(std::string_view text, int line);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  [[nodiscard]] int line_at(std::size_t i) const;
  [[nodiscard]] int line() const { return line_at(0); }
  [[nodiscard]] bool unknown_at(std::size_t i) const { return i < marks_.size() && marks_[i] < 0; }
  [[nodiscard]] bool unknown() const;
  [[nodiscard]] MarkedText part(std::size_t begin, std::size_t end) const;
  // The pieces between blanks. Something unknown, such as "$(cat f | tr a b)", is not parted.
  [[nodiscard]] std::vector<MarkedText> fields() const;

  bool operator==(const MarkedText&) const = default;

 private:
  std::string text_;
  std::vector<int> marks_;  // line; negative: unknown
};

}  // namespace meshwright::interop
