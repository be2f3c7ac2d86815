// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_reader.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "interop/shell/shell_assignment.h"
#include "interop/shell/shell_blocks.h"
#include "interop/shell/shell_cause.h"
#include "interop/shell/shell_condition.h"
#include "interop/shell/shell_cursor.h"
#include "interop/shell/shell_header.h"
#include "interop/shell/shell_redirection.h"
#include "interop/shell/shell_words.h"

namespace meshwright::interop {
namespace {

class ScriptReader {
 public:
  ScriptReader(ShellState& state, const MarkedText& text, int depth)
      : s_(state),
        c_(text),
        depth_(depth),
        flow_(state.context),
        blocks_(c_, flow_, state, depth),
        redirections_(c_, state, depth) {
    state.check_depth(depth, text.line());
  }

  void read() {
    while (!c_.done()) read_command();
  }

 private:
  // One simple command, its redirections and assignments with it.
  void read_command() {
    words_ = {};
    assigned_ = {};
    result_.reset();
    declares_ = assigns_ = false;
    c_.skip_blanks();
    begin_ = c_.place();
    while (!c_.done()) {
      c_.skip_blanks();
      if (c_.done() || read_patterns() || passes_over() || read_test()) continue;
      if (ends_command(c_.here())) {
        if (words_.size() == 1 && blocks_.read_function_head(words_.front().text())) {
          words_ = {};
          continue;
        }
        return end_command();
      }
      read_part();
    }
    finish();
  }

  // A comment, a redirection, a fence.
  bool passes_over() {
    if (words_.empty() && c_.here() == '`' && c_.ahead() == '`') {
      c_.skip_line();  // the fence of a pasted block
    } else if (c_.here() == '#') {
      const std::size_t begin = c_.place();
      c_.skip_line();
      if (s_.sourcing.empty()) read_shell_header(c_.since(begin), s_);
    } else if (c_.here() == '<' || c_.here() == '>') {
      drop_descriptor();
      redirections_.read();
    } else if (c_.here() == '&' && c_.ahead() == '>') {
      c_.advance();
    } else {
      return false;
    }
    return true;
  }

  [[nodiscard]] bool nothing_yet() const { return words_.empty() && !assigns_ && !result_; }

  // [[ ]] or (( )).
  bool read_test() {
    if (!nothing_yet() || c_.here() != c_.ahead()) return false;
    if (c_.here() == '(') result_ = read_arithmetic_command(c_, s_, depth_);
    if (c_.here() == '[' && ends_word(c_.ahead(2))) result_ = read_extended_test(c_, s_, depth_);
    return result_.has_value();
  }

  bool read_patterns() {
    if (!nothing_yet() || !flow_.awaits_pattern()) return false;
    blocks_.read_patterns();
    c_.skip_blanks();
    begin_ = c_.place();
    return true;
  }

  // An assignment, a reserved word, or a word.
  void read_part() {
    const std::size_t name = c_.place();
    if ((words_.empty() || declares_) && read_shell_assignment(c_, s_, depth_, declares_)) {
      assigns_ = true;
      std::size_t end = name;
      while (is_name(c_.text().at(end))) ++end;
      if (words_.empty()) assigned_.push_back(c_.text().part(name, end).text());
      return;
    }
    if (nothing_yet() && blocks_.read_reserved()) {
      c_.skip_blanks();
      begin_ = c_.place();
      return;
    }
    blocks_.forget_function();
    for (MarkedText& word : read_shell_word(c_, s_, depth_)) {
      declares_ = declares_ || (words_.empty() && is_declaration(word.text()));
      words_.push_back(std::move(word));
    }
  }

  // The 2 of "2>&1" is no word.
  void drop_descriptor() {
    const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    const std::size_t at = c_.place();
    if (words_.empty() || at == 0 || !is_digit(c_.text().at(at - 1))) return;
    const std::string& word = words_.back().text();
    if (std::all_of(word.begin(), word.end(), is_digit)) words_.pop_back();
  }

  // At ; & | ( ) or the end of a line.
  void end_command() {
    const char c = c_.here();
    finish();
    if ((c == '&' || c == '|') && c_.ahead() == c) {
      c_.advance(2);
      return flow_.join(c == '&');
    }
    if (c == ';' && (c_.ahead() == ';' || c_.ahead() == '&') && flow_.in_case()) {
      return blocks_.end_clause();
    }
    c_.advance();
    if (c == '(') blocks_.open_bracket();
    if (c == ')') flow_.close(ShellFlow::Kind::bracket);
    if (c == '\n') redirections_.read_here_documents();
  }

  // A pipeline's result is that of its last command.
  void finish() {
    const bool piped = c_.here() == '|' && c_.ahead() != '|';
    if (nothing_yet()) return;
    ShellResult result{ShellStatus::assumed, nullptr};
    if (result_) result = std::move(*result_);
    const bool matters = flow_.in_condition() || flow_.negated() || c_.here() == '|';
    if (!words_.empty()) {
      const MarkedText typed = typed_command();
      ShellCommand command{std::exchange(words_, {})};
      for (const std::string& name : assigned_) {
        const auto value = s_.script.exported.find(name);
        if (value != s_.script.exported.end()) command.variables.insert(*value);
      }
      result = take_shell_command(std::move(command), typed, s_, depth_);
    }
    if (matters && !result.cause && !s_.dead()) {
      result.cause = cause_of_condition(typed_command(), s_, "commands are not run");
    }
    if (!piped) flow_.end_command(std::move(result));
  }

  // Enough of it to name it and the variables in it.
  [[nodiscard]] MarkedText typed_command() const {
    constexpr std::size_t kLongest = 400;
    return c_.text().part(begin_, std::min(c_.place(), begin_ + kLongest));
  }

  ShellState& s_;
  ShellCursor c_;
  int depth_;
  ShellFlow flow_;
  ShellBlocks blocks_;
  ShellRedirections redirections_;
  std::vector<MarkedText> words_;
  std::vector<std::string> assigned_;  // names of variables in front of the words
  std::optional<ShellResult> result_;  // of a test
  std::size_t begin_ = 0;
  bool declares_ = false, assigns_ = false;
};

}  // namespace

void read_shell_commands(const MarkedText& text, ShellState& state, int depth) {
  ScriptReader(state, text, depth).read();
}

}  // namespace meshwright::interop
