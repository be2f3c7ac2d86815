// SPDX-License-Identifier: Apache-2.0
// A place in a script's text, and what a shell takes characters for.
#pragma once

#include <cctype>
#include <cstddef>

#include "interop/shell/marked_text.h"

namespace meshwright::interop {

inline bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
inline bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
inline bool ends_command(char c) {
  return c == ';' || c == '\n' || c == '|' || c == '&' || c == '(' || c == ')';
}
inline bool ends_word(char c) {
  return c == ' ' || c == '\t' || c == '<' || c == '>' || ends_command(c);
}

class ShellCursor {
 public:
  explicit ShellCursor(const MarkedText& text) : in_(text) {}

  [[nodiscard]] bool done() const { return at_ >= in_.size(); }
  [[nodiscard]] char here() const { return in_.at(at_); }
  [[nodiscard]] char ahead(std::size_t n = 1) const { return in_.at(at_ + n); }
  [[nodiscard]] int line() const { return in_.line_at(at_); }
  [[nodiscard]] std::size_t place() const { return at_; }
  [[nodiscard]] const MarkedText& text() const { return in_; }
  // Returns the text between `begin` and the current place.
  [[nodiscard]] MarkedText since(std::size_t begin) const { return in_.part(begin, at_); }
  void advance(std::size_t n = 1) { at_ += n; }
  void move_to(std::size_t place) { at_ = place; }

  void take(MarkedText& out) {
    out.add(here(), line(), in_.unknown_at(at_));
    ++at_;
  }
  // Letters, digits and underscores from here on.
  std::string take_name() {
    std::string name;
    while (!done() && is_name(here())) {
      name += here();
      ++at_;
    }
    return name;
  }
  void skip_line() {
    while (!done() && here() != '\n') ++at_;
  }
  bool skip_continuation() {
    if (here() != '\\' || ahead() != '\n') return false;
    at_ += 2;
    return true;
  }
  void skip_blanks() {
    while (!done() && (here() == ' ' || here() == '\t' || skip_continuation())) {
      if (here() == ' ' || here() == '\t') ++at_;
    }
  }

 private:
  const MarkedText& in_;
  std::size_t at_ = 0;
};

}  // namespace meshwright::interop
