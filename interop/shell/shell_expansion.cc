// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_expansion.h"

#include "interop/shell/shell_arguments.h"
#include "interop/shell/shell_arithmetic.h"
#include "interop/shell/shell_braces.h"

namespace meshwright::interop {
namespace {

class Expander {
 public:
  Expander(ShellCursor& cursor, ShellState& state, int depth)
      : c_(cursor), s_(state), depth_(depth), at_line_(cursor.line()) {}

  ShellExpansion read(bool quoted) {
    if (c_.here() == '`') return back_quoted();
    if (c_.ahead() == '(' && c_.ahead(2) == '(') return arithmetic();
    if (c_.ahead() == '(') return command_output();
    if (c_.ahead() == '{') return braces(quoted);
    c_.advance();
    std::string name = is_name_start(c_.here()) ? c_.take_name() : "";
    if (name.empty()) {
      if (c_.done() || c_.here() == ' ' || c_.here() == '"' || c_.here() == '\n') {
        return plain_value("$", at_line_);
      }
      name = c_.here();
      c_.advance();
      if (!is_argument_name(name)) return unknown_value("$" + name, at_line_);
    }
    return value_of(name, "$" + name, name == "@" && quoted, s_, at_line_);
  }

 private:
  ShellExpansion back_quoted() {
    std::string text;
    do {
      text += c_.here();
      c_.advance();
    } while (!c_.done() && (text.size() < 2 || text.back() != '`'));
    return unknown_value(text, at_line_);
  }

  // The text between brackets, the cursor behind the closing one.
  MarkedText bracketed(char open, char close) {
    c_.advance();
    const std::size_t begin = c_.place();
    for (int depth = 1; !c_.done(); c_.advance()) {
      if (c_.here() == open) ++depth;
      if (c_.here() != close || --depth > 0) continue;
      MarkedText inside = c_.since(begin);
      c_.advance();
      return inside;
    }
    s_.fail(at_line_, fmt::format("the {} that begins here is never closed", open));
  }

  ShellExpansion command_output() {
    c_.advance();
    return unknown_value("$(" + bracketed('(', ')').text() + ")", at_line_);
  }

  ShellExpansion arithmetic() {
    c_.advance();
    const MarkedText inside = bracketed('(', ')');
    const MarkedText expression = inside.part(1, inside.size() - 1);
    const auto value = arithmetic_of(expression, s_, depth_ + 1);
    return value ? plain_value(std::to_string(*value), at_line_)
                 : unknown_value("$((" + expression.text() + "))", at_line_);
  }

  ShellExpansion braces(bool quoted) {
    c_.advance();
    return read_braces(bracketed('{', '}'), s_, depth_, quoted, at_line_);
  }

  ShellCursor& c_;
  ShellState& s_;
  int depth_, at_line_;
};

}  // namespace

ShellExpansion read_expansion(ShellCursor& cursor, ShellState& state, int depth, bool quoted) {
  return Expander(cursor, state, depth).read(quoted);
}

MarkedText expanded_text(const MarkedText& text, ShellState& state, int depth) {
  state.check_depth(depth, text.line());
  ShellCursor cursor(text);
  MarkedText out;
  while (!cursor.done()) {
    if (cursor.here() == '$' || cursor.here() == '`') {
      join_expansion(out, read_expansion(cursor, state, depth, true));
    } else {
      cursor.take(out);
    }
  }
  return out;
}

std::optional<std::int64_t> arithmetic_of(const MarkedText& typed, ShellState& state, int depth) {
  const bool expands = typed.text().find('$') != std::string::npos;
  const MarkedText expression = expands ? expanded_text(typed, state, depth) : typed;
  if (expression.unknown()) return std::nullopt;
  return shell_arithmetic(expression.text(), [&](const std::string& name) {
    const ShellExpansion found = value_of(name, name, false, state, typed.line());
    const bool known = found.words.size() == 1 && !found.words.front().unknown();
    return known ? found.words.front().text() : std::string();
  });
}

void join_expansion(MarkedText& out, const ShellExpansion& value) {
  for (std::size_t i = 0; i < value.words.size(); ++i) {
    if (i > 0) out.add(' ', out.line());
    out.add(value.words[i]);
  }
}

}  // namespace meshwright::interop
