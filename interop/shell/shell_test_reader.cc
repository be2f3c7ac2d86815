// SPDX-License-Identifier: Apache-2.0
// The words of [[ ]] and the expression of (( )), as a script has them.
#include <string_view>
#include <utility>

#include "interop/shell/shell_cause.h"
#include "interop/shell/shell_condition.h"
#include "interop/shell/shell_expansion.h"
#include "interop/shell/shell_words.h"

namespace meshwright::interop {
namespace {

class TestReader {
 public:
  TestReader(ShellCursor& cursor, ShellState& state, int depth)
      : c_(cursor), s_(state), depth_(depth) {}

  std::optional<ShellResult> read() {
    const std::size_t begin = c_.place();
    c_.advance(2);
    bool closed = false;
    while (!c_.done() && !closed) closed = !read_word();
    const bool affordable = s_.affords(c_.place() - begin);
    if (!closed || !affordable) {
      c_.move_to(begin);
      return std::nullopt;
    }
    if (s_.dead()) return ShellResult{};
    return test_result(words_, true, c_.since(begin), s_);
  }

 private:
  // Tells whether there is one: ]] ends them.
  bool read_word() {
    c_.skip_blanks();
    if (c_.done()) return true;
    const char c = c_.here();
    if (c == '\n') {
      c_.advance();
    } else if (ends_word(c)) {
      read_symbol();
    } else if (c == ']' && c_.ahead() == ']' && ends_word(c_.ahead(2))) {
      c_.advance(2);
      return false;
    } else if (!words_.empty() && words_.back().text.text() == "=~") {
      skip_expression();
    } else {
      ConditionWord word;
      word.pattern = read_shell_pattern(c_, s_, depth_);
      word.text = without_escapes(word.pattern);
      words_.push_back(std::move(word));
    }
    return true;
  }

  void read_symbol() {
    const bool twice = (c_.here() == '&' || c_.here() == '|') && c_.ahead() == c_.here();
    ConditionWord word;
    word.symbol = true;
    c_.take(word.text);
    if (twice) c_.take(word.text);
    words_.push_back(std::move(word));
  }

  // A regular expression, with blanks in its brackets only.
  void skip_expression() {
    ConditionWord word;
    int depth = 0;
    while (!c_.done() && c_.here() != '\n' && (depth > 0 || c_.here() != ' ')) {
      depth += c_.here() == '(' ? 1 : c_.here() == ')' ? -1 : 0;
      c_.take(word.text);
    }
    words_.push_back(std::move(word));
  }

  ShellCursor& c_;
  ShellState& s_;
  int depth_;
  std::vector<ConditionWord> words_;
};

constexpr std::string_view kSigns = "+-*/%";

// The name that an assignment in arithmetic changes at a place: N = 1, N += 1, N++, ++N.
bool changes_at(const std::string& text, std::size_t begin, std::size_t end) {
  while (end < text.size() && text[end] == ' ') ++end;
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  const bool sign = kSigns.find(at(end)) != std::string_view::npos && at(end) != '\0';
  const std::size_t equals = end + (sign ? 1 : 0);
  if (at(equals) == '=' && at(equals + 1) != '=') return true;
  const auto doubled = [&](std::size_t i) {
    return (at(i) == '+' || at(i) == '-') && at(i + 1) == at(i);
  };
  return doubled(end) || (begin >= 2 && doubled(begin - 2));
}

// Assignments in arithmetic are not followed: their variables become unknown.
void forget_changed(const MarkedText& expression, ShellState& s) {
  const std::string& text = expression.text();
  for (std::size_t i = 0; i < text.size();) {
    if (!is_name(text[i])) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < text.size() && is_name(text[i])) ++i;
    const std::string name = text.substr(begin, i - begin);
    if (!is_name_start(name.front()) || !changes_at(text, begin, i) || s.given.contains(name)) {
      continue;
    }
    s.variables.erase(name);
    s.causes.erase(name);
    s.script.why_unknown[name] = fmt::format("it is set by arithmetic, line {}", expression.line());
  }
}

}  // namespace

std::optional<ShellResult> read_extended_test(ShellCursor& cursor, ShellState& state, int depth) {
  return TestReader(cursor, state, depth).read();
}

std::size_t end_of_arithmetic(const ShellCursor& cursor) {
  constexpr std::size_t kLongest = 400;
  const MarkedText& text = cursor.text();
  int depth = 0;
  for (std::size_t i = cursor.place(); i < cursor.place() + kLongest && i < text.size(); ++i) {
    if (text.at(i) == '(') ++depth;
    if (text.at(i) != ')' || --depth > 0) continue;
    return text.at(i - 1) == ')' ? i + 1 : 0;
  }
  return 0;
}

std::optional<ShellResult> read_arithmetic_command(ShellCursor& cursor, ShellState& state,
                                                   int depth) {
  const std::size_t end = end_of_arithmetic(cursor);
  if (end == 0) return std::nullopt;
  const MarkedText inside = cursor.text().part(cursor.place() + 2, end - 2);
  cursor.move_to(end);
  if (state.dead()) return ShellResult{};
  const auto value = arithmetic_of(inside, state, depth + 1);
  if (value) return ShellResult{*value != 0 ? ShellStatus::yes : ShellStatus::no, nullptr};
  forget_changed(inside, state);
  return ShellResult{ShellStatus::unknown,
                     cause_of_condition(inside, state, "the arithmetic is not understood", true)};
}

}  // namespace meshwright::interop
