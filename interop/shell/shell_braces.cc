// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_braces.h"

#include <cctype>
#include <utility>

#include "interop/shell/shell_arguments.h"
#include "interop/shell/shell_cursor.h"
#include "interop/shell/shell_expansion.h"
#include "interop/shell/shell_glob.h"
#include "interop/shell/shell_words.h"

namespace meshwright::interop {
namespace {

using Words = std::vector<MarkedText>;

MarkedText joined(const Words& words) {
  MarkedText text;
  join_expansion(text, {words});
  return text;
}

bool is_known(const Words& words) {
  for (const MarkedText& word : words) {
    if (word.unknown()) return false;
  }
  return true;
}

class Braces {
 public:
  Braces(const MarkedText& inside, ShellState& state, int depth, bool quoted, int line)
      : s_(state), depth_(depth), quoted_(quoted), line_(line) {
    typed_ = "${" + inside.text() + "}";
    std::size_t at = 0;
    const auto names = [](char c) { return is_name(c) || c == '@' || c == '*'; };
    length_ = inside.at(0) == '#' && names(inside.at(1));
    if (length_) ++at;
    const std::size_t begin = at;
    while (is_name(inside.at(at))) ++at;
    const char c = inside.at(at);
    if (at == begin && (c == '@' || c == '*' || c == '#')) ++at;
    name_ = inside.part(begin, at).text();
    if (inside.at(at) == '[') {
      const std::size_t end = inside.text().find(']', at);
      subscript_ = inside.part(at + 1, end).text();
      at = std::min(end, inside.size() - 1) + 1;
    } else if (name_ == "@" || name_ == "*") {
      subscript_ = name_;
    }
    rest_ = inside.part(at, inside.size());
  }

  ShellExpansion read() {
    if (name_.empty() || s_.dead()) return unknown();
    const bool plain = rest_.empty() && !length_;
    const bool all = subscript_ == "@" || subscript_ == "*";
    if (plain && (subscript_.empty() || all)) {
      return value_of(name_, typed_, subscript_ == "@" && quoted_, s_, line_);
    }
    if (s_.extended == name_) return unknown();
    if (length_) return rest_.empty() ? length(all) : unknown();
    if (plain) return element();
    if (!subscript_.empty() && subscript_ != "0") return unknown();
    const bool colon = rest_.at(0) == ':';
    const char operation = rest_.at(colon ? 1 : 0);
    if (operation == '-' || operation == '=') return or_default(colon);
    if (operation == '+') return if_set(colon);
    if (operation == '?') return value_of(name_, "${" + name_ + "}", false, s_, line_);
    return colon ? unknown() : changed(operation);
  }

 private:
  [[nodiscard]] ShellExpansion unknown() const { return unknown_value(typed_, line_); }

  ShellExpansion length(bool all) {
    const auto words = find_value(name_, s_, line_);
    if (!words || !is_known(*words) || (!all && !subscript_.empty())) return unknown();
    const std::size_t first = words->empty() ? 0 : words->front().size();
    return plain_value(std::to_string(all ? words->size() : first), line_);
  }

  ShellExpansion element() {
    constexpr std::size_t kMostDigits = 6;
    const bool constant = !subscript_.empty() && subscript_.size() <= kMostDigits &&
                          subscript_.find_first_not_of("0123456789") == std::string::npos;
    const auto words = constant ? find_value(name_, s_, line_) : std::nullopt;
    if (!words) return unknown();
    const auto index = static_cast<std::size_t>(std::stoi(subscript_));
    for (const MarkedText& word : *words) {
      if (word.at(0) == '[') return unknown();  // ([key]=value)
    }
    if (index >= words->size()) return plain_value("", line_);
    s_.count((*words)[index].size(), line_);
    return {{(*words)[index]}};
  }

  // ${NAME:-8}: taken, though the environment may say otherwise.
  ShellExpansion or_default(bool colon) {
    const auto words = is_unset(name_, s_) ? std::nullopt : find_value(name_, s_, line_);
    const bool argument = is_argument_name(name_);
    if (words && !(colon && joined(*words).empty())) {
      return value_of(name_, typed_, false, s_, line_);
    }
    if (!words && !is_unset(name_, s_)) return unknown();
    MarkedText value = operand(colon ? 2 : 1, false);
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (is_own_value(value, i)) return unknown();
    }
    const std::string name = argument ? original_argument(name_, s_) : name_;
    const bool certain = argument && find_argument(name_, s_, line_).has_value();
    if (!certain) s_.script.taken_defaults.push_back({name, value.text(), line_});
    if (!argument) s_.variables[name] = {{value}};
    return {{std::move(value)}};
  }

  ShellExpansion if_set(bool colon) {
    const auto words = find_value(name_, s_, line_);
    if (!words) return unknown();
    const MarkedText value = joined(*words);
    const bool missing = is_argument_name(name_) && words->empty();
    if (colon && value.unknown()) return unknown();
    if (missing || (colon && value.empty())) return plain_value("", line_);
    return {{operand(colon ? 2 : 1, false)}};
  }

  // % %% # ## / // , ,, ^ ^^ of a plain variable.
  ShellExpansion changed(char operation) {
    const auto words = find_value(name_, s_, line_);
    if (!words || words->size() != 1 || !is_known(*words)) return unknown();
    const MarkedText& value = words->front();
    s_.count(value.size(), line_);
    const bool twice = rest_.at(1) == operation;
    if (operation == '/') return replaced_in(value, twice);
    if (operation == '%' || operation == '#') return cut(value, operation == '%', twice);
    const bool all = twice && rest_.size() == 2;
    return all && (operation == ',' || operation == '^') ? in_case(value, operation == '^')
                                                         : unknown();
  }

  static ShellExpansion in_case(const MarkedText& value, bool upper) {
    MarkedText out;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto c = static_cast<unsigned char>(value.at(i));
      out.add(static_cast<char>(upper ? std::toupper(c) : std::tolower(c)), value.line_at(i));
    }
    return {{std::move(out)}};
  }

  ShellExpansion cut(const MarkedText& value, bool at_end, bool longest) {
    const MarkedText pattern = operand(longest ? 2 : 1, true);
    const ShellGlob glob(pattern.text());
    if (pattern.unknown() || !glob.understood()) return unknown();
    if (!s_.affords(glob.length_steps(value.size()))) return unknown();
    const std::size_t length = glob.length_in(value.text(), at_end, longest).value_or(0);
    return {{at_end ? value.part(0, value.size() - length) : value.part(length, value.size())}};
  }

  // Only plain text is searched for, without an anchor.
  ShellExpansion replaced_in(const MarkedText& value, bool all) {
    const std::size_t begin = all ? 2 : 1;
    std::size_t slash = begin;
    while (slash < rest_.size() && rest_.at(slash) != '/') slash += rest_.at(slash) == '\\' ? 2 : 1;
    const MarkedText pattern = operand_of(rest_.part(begin, slash), true);
    const MarkedText with = operand_of(rest_.part(slash + 1, rest_.size()), false);
    const ShellGlob glob(pattern.text());
    const std::string& from = glob.characters();
    const bool anchored = from.starts_with('#') || from.starts_with('%');
    const bool readable = glob.plain() && !from.empty() && !anchored && !pattern.unknown();
    if (!readable || !s_.affords((value.size() + 1) * from.size())) return unknown();
    MarkedText out;
    std::size_t at = 0;
    for (std::size_t next = value.text().find(from); next != std::string::npos;
         next = all ? value.text().find(from, at) : std::string::npos) {
      s_.count(with.size(), line_);
      out.add(value.part(at, next));
      out.add(with);
      at = next + from.size();
    }
    out.add(value.part(at, value.size()));
    return {{std::move(out)}};
  }

  MarkedText operand(std::size_t begin, bool pattern) {
    return operand_of(rest_.part(begin, rest_.size()), pattern);
  }
  MarkedText operand_of(const MarkedText& typed, bool pattern) {
    return read_operand(typed, s_, depth_ + 1, pattern, quoted_);
  }

  ShellState& s_;
  int depth_;
  bool quoted_;
  int line_;
  bool length_ = false;
  std::string typed_, name_, subscript_;
  MarkedText rest_;
};

}  // namespace

ShellExpansion read_braces(const MarkedText& inside, ShellState& state, int depth, bool quoted,
                           int line) {
  return Braces(inside, state, depth, quoted, line).read();
}

}  // namespace meshwright::interop
