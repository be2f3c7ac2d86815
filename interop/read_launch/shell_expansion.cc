// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/shell_expansion.h"

#include <string_view>

#include "interop/read_launch/shell_arithmetic.h"

namespace meshwright::interop {
namespace {

ShellExpansion unknown(const std::string& text, int at) {
  MarkedText value;
  value.add_unknown(text, at);
  return {{value}};
}

ShellExpansion plain(std::string_view text, int at) {
  MarkedText value;
  for (const char c : text) value.add(c, at);
  return {{value}};
}

bool is_empty(const ShellVariable& variable) {
  return variable.words.empty() || (variable.words.size() == 1 && variable.words.front().empty());
}

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
    if (is_name_start(c_.here())) {
      const std::string name = c_.take_name();
      return value_of(name, "$" + name, false);
    }
    if (c_.done() || c_.here() == ' ' || c_.here() == '"' || c_.here() == '\n') {
      return plain("$", at_line_);
    }
    const std::string name(1, c_.here());
    c_.advance();
    return unknown("$" + name, at_line_);
  }

 private:
  ShellExpansion back_quoted() {
    std::string text;
    do {
      text += c_.here();
      c_.advance();
    } while (!c_.done() && (text.size() < 2 || text.back() != '`'));
    return unknown(text, at_line_);
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
    return unknown("$(" + bracketed('(', ')').text() + ")", at_line_);
  }

  ShellExpansion arithmetic() {
    c_.advance();
    const MarkedText inside = bracketed('(', ')');
    const MarkedText expression = inside.part(1, inside.size() - 1);
    const auto value = shell_arithmetic(expression.text(), [&](const std::string& name) {
      const ShellExpansion found = value_of(name, name, false);
      const bool known = found.words.size() == 1 && !found.words.front().unknown();
      return known ? found.words.front().text() : std::string();
    });
    return value ? plain(std::to_string(*value), at_line_)
                 : unknown("$((" + expression.text() + "))", at_line_);
  }

  ShellExpansion braces(bool quoted) {
    c_.advance();
    const MarkedText inside = bracketed('{', '}');
    const std::string typed = "${" + inside.text() + "}";
    std::size_t end = 0;
    while (is_name(inside.at(end))) ++end;
    const std::string name = inside.part(0, end).text();
    const std::string rest = inside.part(end, inside.size()).text();
    if (name.empty()) return unknown(typed, at_line_);
    if (rest.empty()) return value_of(name, typed, false);
    if (rest == "[@]" || rest == "[*]") return value_of(name, typed, rest == "[@]" && quoted);
    const bool colon = rest.starts_with(":");
    const char operation = rest[colon ? 1 : 0];
    if (operation != '-' && operation != '=') return unknown(typed, at_line_);
    const auto known = s_.variables.find(name);
    if (known != s_.variables.end() && !(colon && is_empty(known->second))) {
      return value_of(name, typed, false);
    }
    if (s_.script.why_unknown.contains(name)) return unknown(typed, at_line_);
    return default_of(name, inside.part(end + (colon ? 2 : 1), inside.size()));
  }

  // ${NAME:-8}: taken, though the environment may say otherwise.
  ShellExpansion default_of(const std::string& name, const MarkedText& typed) {
    MarkedText value = expanded_text(typed, s_, depth_ + 1);
    s_.script.taken_defaults.push_back({name, value.text(), at_line_});
    s_.variables[name] = {{value}};
    return {{std::move(value)}};
  }

  ShellExpansion value_of(const std::string& name, const std::string& typed, bool array) {
    const auto found = s_.variables.find(name);
    if (found == s_.variables.end()) {
      s_.script.why_unknown.try_emplace(name, "the file does not set it");
      return unknown(typed, at_line_);
    }
    std::size_t size = 0;
    for (const MarkedText& word : found->second.words) size += word.size();
    s_.count(size, at_line_);
    return {found->second.words, array};
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

void join_expansion(MarkedText& out, const ShellExpansion& value) {
  for (std::size_t i = 0; i < value.words.size(); ++i) {
    if (i > 0) out.add(' ', out.line());
    out.add(value.words[i]);
  }
}

}  // namespace meshwright::interop
