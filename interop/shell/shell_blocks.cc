// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_blocks.h"

#include <utility>

#include "interop/shell/shell_cause.h"
#include "interop/shell/shell_condition.h"
#include "interop/shell/shell_loop.h"
#include "interop/shell/shell_words.h"

namespace meshwright::interop {
namespace {

using Kind = ShellFlow::Kind;

ShellCausePtr cause_at(int line, const std::string& what) {
  return std::make_shared<const ShellCause>(ShellCause{"", fmt::format("line {}: {}", line, what)});
}

}  // namespace

// Without quotes and expansions; empty: it is longer than reserved words are.
std::string ShellBlocks::plain_word() const {
  constexpr std::size_t kLongest = 8;
  std::string word;
  while (word.size() <= kLongest && c_.ahead(word.size()) != '\0' &&
         !ends_word(c_.ahead(word.size()))) {
    word += c_.ahead(word.size());
  }
  return word.size() <= kLongest ? word : "";
}

bool ShellBlocks::read_reserved() {
  const std::string word = plain_word();
  const std::size_t begin = c_.place();
  c_.advance(word.size());
  if (open_block(word) || close_block(word)) return true;
  if (word == "then") {
    flow_.then();
  } else if (word == "elif") {
    flow_.elif ();
  } else if (word == "else") {
    flow_.otherwise();
  } else if (word == "!") {
    flow_.negate();
  } else if (word != "do" && word != "time") {
    c_.move_to(begin);
    return false;
  }
  return true;
}

bool ShellBlocks::open_block(const std::string& word) {
  if (word == "if") {
    flow_.open(Kind::choice);
  } else if (word == "for" || word == "select" || word == "while" || word == "until") {
    read_loop(word);
  } else if (word == "case") {
    read_case();
  } else if (word == "{") {
    open_group(Kind::brace);
  } else if (word == "function") {
    read_function();
  } else {
    return false;
  }
  return true;
}

bool ShellBlocks::close_block(const std::string& word) {
  if (word != "fi" && word != "done" && word != "esac" && word != "}") return false;
  flow_.close(word == "fi"     ? Kind::choice
              : word == "done" ? Kind::loop
              : word == "esac" ? Kind::pattern
                               : Kind::brace);
  return true;
}

void ShellBlocks::open_group(Kind kind) {
  if (!std::exchange(has_function_, false)) return flow_.open(kind);
  flow_.open_function(kind, std::exchange(function_, nullptr));
}

void ShellBlocks::open_bracket() { open_group(Kind::bracket); }

void ShellBlocks::read_loop(const std::string& word) {
  const int line = c_.line();
  const bool counts = word == "for" || word == "select";
  if (word == "for" && read_for_loop(c_, s_, depth_)) return;
  flow_.open_loop(cause_at(line, "a loop"), !counts);
  if (counts) read_loop_variable(line);
}

void ShellBlocks::read_loop_variable(int line) {
  c_.skip_blanks();
  const std::size_t end = c_.here() == '(' && c_.ahead() == '(' ? end_of_arithmetic(c_) : 0;
  while (end > 0 && (c_.here() == '(' || c_.here() == ' ')) c_.advance();
  const std::string name = c_.take_name();
  if (end > 0) c_.move_to(end);
  if (name.empty() || s_.dead()) return;
  s_.variables.erase(name);
  s_.causes.erase(name);
  ShellCursor rest = c_;
  rest.skip_blanks();
  const std::size_t begin = rest.place();
  while (!rest.done() && !ends_command(rest.here())) rest.advance();
  std::string values = rest.since(begin).text();
  values = values.starts_with("in ") ? ": " + shortened(values.substr(3)) : "";
  s_.script.why_unknown[name] =
      fmt::format("it takes several values in a loop, line {}{}", line, values);
}

// NAME { ... } counts as live, NAME() { ... } as conditional: a call is not followed.
void ShellBlocks::read_function() {
  c_.skip_blanks();
  const std::string name = c_.take_name();
  c_.skip_blanks();
  if (read_function_head(name)) return;
  has_function_ = true;
  function_ = nullptr;
}

bool ShellBlocks::skip_brackets() {
  const std::size_t begin = c_.place();
  if (c_.here() != '(') return false;
  c_.advance();
  c_.skip_blanks();
  if (c_.here() == ')') {
    c_.advance();
    return true;
  }
  c_.move_to(begin);
  return false;
}

bool ShellBlocks::read_function_head(const std::string& name) {
  const int line = c_.line();
  if (!skip_brackets()) return false;
  has_function_ = true;
  function_ = cause_at(line, "the function " + shortened(name));
  return true;
}

void ShellBlocks::read_case() {
  c_.skip_blanks();
  const std::size_t begin = c_.place();
  MarkedText word;
  for (const MarkedText& part : read_shell_word(c_, s_, depth_, false)) word.add(part);
  const ShellCausePtr cause =
      s_.dead() ? nullptr
                : cause_of_condition(c_.since(begin), s_, "the pattern is not understood");
  skip_to_pattern();
  flow_.open_case(std::move(word), cause);
  if (plain_word() != "in") return flow_.give_up_patterns();
  c_.advance(2);
}

// Blanks, comments and empty lines.
void ShellBlocks::skip_to_pattern() {
  while (!c_.done()) {
    c_.skip_blanks();
    if (c_.here() == '#') {
      c_.skip_line();
    } else if (c_.here() == '\n') {
      c_.advance();
    } else {
      return;
    }
  }
}

void ShellBlocks::read_patterns() {
  skip_to_pattern();
  if (c_.done()) return;
  if (plain_word() == "esac") {
    c_.advance(4);
    return flow_.close(Kind::pattern);
  }
  if (c_.here() == '(') c_.advance();
  ShellStatus matches = ShellStatus::no;
  while (true) {
    c_.skip_blanks();
    if (c_.done() || ends_word(c_.here())) return flow_.give_up_patterns();
    const MarkedText pattern = read_shell_pattern(c_, s_, depth_);
    const ShellStatus one = pattern_status(flow_.case_word(), pattern, s_);
    if (one != ShellStatus::no && matches != ShellStatus::yes) matches = one;
    c_.skip_blanks();
    const char end = c_.here();
    if (end != '|' && end != ')') return flow_.give_up_patterns();
    c_.advance();
    if (end == ')') break;
  }
  flow_.clause(matches);
}

void ShellBlocks::end_clause() {
  c_.advance();
  const bool more = c_.here() == ';';
  if (more) c_.advance();
  const bool falls = c_.here() == '&';
  if (falls) c_.advance();
  flow_.end_clause(falls);
}

}  // namespace meshwright::interop
