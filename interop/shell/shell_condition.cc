// SPDX-License-Identifier: Apache-2.0
// Evaluation of the words of a test.
#include "interop/shell/shell_condition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "interop/shell/shell_cause.h"
#include "interop/shell/shell_expansion.h"
#include "interop/shell/shell_glob.h"

namespace meshwright::interop {
namespace {

using Status = ShellStatus;

constexpr int kDeepestTest = 50;
constexpr std::array<std::string_view, 16> kBinary{"=",   "==",  "!=",  "=~",  "<",   ">",
                                                   "-eq", "-ne", "-lt", "-le", "-gt", "-ge",
                                                   "-nt", "-ot", "-ef", ""};
constexpr std::string_view kFileTests = "abcdefghkprstuwxGLNOS";

Status status_of(bool holds) { return holds ? Status::yes : Status::no; }

Status reversed(Status status) {
  return status == Status::yes ? Status::no : status == Status::no ? Status::yes : status;
}

std::optional<std::int64_t> whole_number_of(const std::string& text) {
  std::int64_t value = 0;
  constexpr std::size_t kMostDigits = 15;
  if (text.size() > kMostDigits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

bool compares(std::string_view operation, std::int64_t a, std::int64_t b) {
  if (operation == "-eq") return a == b;
  if (operation == "-ne") return a != b;
  if (operation == "-lt") return a < b;
  if (operation == "-le") return a <= b;
  return operation == "-gt" ? a > b : a >= b;
}

class Test {
 public:
  Test(const std::vector<ConditionWord>& words, bool extended, ShellState& state)
      : words_(words), extended_(extended), s_(state) {}

  Status whole() {
    if (words_.empty()) return Status::no;
    const Status status = either();
    return at_ == words_.size() && !failed_ ? status : Status::unknown;
  }
  // Why the result is unknown though all values are known.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

 private:
  [[nodiscard]] bool is(std::size_t i, std::string_view text) const {
    if (i >= words_.size() || words_[i].text.text() != text) return false;
    const bool sign = text != "!" && text.front() != '-';
    return !words_[i].text.unknown() && (!extended_ || !sign || words_[i].symbol);
  }
  bool take(std::string_view text) {
    if (failed_ || !is(at_, text)) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] bool is_binary(std::size_t i) const {
    if (i + 1 >= words_.size() || words_[i].text.unknown()) return false;
    const std::string& text = words_[i].text.text();
    if (extended_ && (text == "<" || text == ">") && !words_[i].symbol) return false;
    return !text.empty() && std::find(kBinary.begin(), kBinary.end(), text) != kBinary.end();
  }

  Status either() {
    Status status = both();
    while (take(extended_ ? "||" : "-o")) {
      const Status right = both();
      const bool holds = status == Status::yes || right == Status::yes;
      status = holds ? Status::yes : status == Status::no ? right : status;
    }
    return status;
  }

  Status both() {
    Status status = single();
    while (take(extended_ ? "&&" : "-a")) {
      const Status right = single();
      const bool fails = status == Status::no || right == Status::no;
      status = fails ? Status::no : status == Status::yes ? right : status;
    }
    return status;
  }

  Status single() {
    bool negated = false;
    while (!is_binary(at_ + 1) && at_ + 1 < words_.size() && take("!")) negated = !negated;
    const Status status = primary();
    return negated ? reversed(status) : status;
  }

  Status primary() {
    if (failed_ || at_ >= words_.size()) return fail();
    if (is_binary(at_ + 1)) return binary();
    if (take("(")) {
      if (++depth_ > kDeepestTest) return fail();
      const Status status = either();
      --depth_;
      return take(")") ? status : fail();
    }
    if (words_[at_].symbol) return fail();
    const std::string& text = words_[at_].text.text();
    const bool option = text.size() == 2 && text[0] == '-' && !words_[at_].text.unknown();
    if (option && at_ + 1 < words_.size()) {
      const bool is_test = std::string_view("znvo").find(text[1]) != std::string_view::npos ||
                           kFileTests.find(text[1]) != std::string_view::npos;
      if (is_test) return unary(text[1]);
    }
    const MarkedText& word = words_[at_++].text;
    return word.unknown() ? Status::unknown : status_of(!word.empty());
  }

  Status unary(char operation) {
    const MarkedText& word = words_[at_ + 1].text;
    at_ += 2;
    if (operation == 'v') {
      return s_.variables.contains(word.text()) ? Status::yes : Status::unknown;
    }
    if (operation != 'z' && operation != 'n') {
      return unknown(operation == 'o' ? "shell options are unknown" : "files are not looked up");
    }
    return word.unknown() ? Status::unknown : status_of(word.empty() == (operation == 'z'));
  }

  Status binary() {
    const ConditionWord& left = words_[at_];
    const std::string& operation = words_[at_ + 1].text.text();
    const ConditionWord& right = words_[at_ + 2];
    at_ += 3;
    if (operation == "=~") return unknown("regular expressions are not evaluated");
    if (left.text.unknown() || right.text.unknown()) return Status::unknown;
    const std::string& a = left.text.text();
    const std::string& b = right.text.text();
    if (operation == "<" || operation == ">") return status_of(operation == "<" ? a < b : a > b);
    if (operation[0] == '-') return numbers(operation, left.text, right.text);
    const Status equal =
        extended_ ? pattern_status(left.text, right.pattern, s_) : status_of(a == b);
    if (equal == Status::unknown) return unknown("the pattern is not understood");
    return operation == "!=" ? reversed(equal) : equal;
  }

  Status numbers(std::string_view operation, const MarkedText& left, const MarkedText& right) {
    if (operation[1] == 'o' || operation == "-nt" || operation == "-ef") {
      return unknown("files are not looked up");
    }
    const auto a = extended_ ? arithmetic_of(left, s_, 1) : whole_number_of(left.text());
    const auto b = extended_ ? arithmetic_of(right, s_, 1) : whole_number_of(right.text());
    if (!a || !b) return unknown("a value is no whole number");
    return status_of(compares(operation, *a, *b));
  }

  Status unknown(const char* why) {
    if (obstacle_.empty()) obstacle_ = why;
    return Status::unknown;
  }
  Status fail() {
    failed_ = true;
    return Status::unknown;
  }

  const std::vector<ConditionWord>& words_;
  bool extended_;
  ShellState& s_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
  std::string obstacle_;
};

}  // namespace

ShellResult test_result(const std::vector<ConditionWord>& words, bool extended,
                        const MarkedText& typed, ShellState& state) {
  Test test(words, extended, state);
  const Status status = test.whole();
  if (status != Status::unknown) return {status, nullptr};
  const std::string& obstacle = test.obstacle();
  return {status, cause_of_condition(typed, state,
                                     obstacle.empty() ? "the test is not understood" : obstacle)};
}

ShellResult simple_test(const std::vector<MarkedText>& words, const MarkedText& typed,
                        ShellState& state) {
  const bool bracket = words.front().text() == "[";
  const std::size_t end = words.size() - (bracket ? 1 : 0);
  if (bracket && (words.size() < 2 || words.back().text() != "]")) {
    return {Status::unknown, cause_of_condition(typed, state, "the test is not understood")};
  }
  std::vector<ConditionWord> inside;
  for (std::size_t i = 1; i < end; ++i) inside.push_back({words[i], words[i], false});
  return test_result(inside, false, typed, state);
}

ShellStatus pattern_status(const MarkedText& word, const MarkedText& pattern, ShellState& state) {
  if (pattern.text() == "*") return Status::yes;
  if (word.unknown() || pattern.unknown()) return Status::unknown;
  const ShellGlob glob(pattern.text());
  if (!glob.understood() || !state.affords(glob.steps(word.size()))) return Status::unknown;
  return status_of(glob.matches(word.text()));
}

}  // namespace meshwright::interop
