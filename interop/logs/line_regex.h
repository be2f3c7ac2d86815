// SPDX-License-Identifier: Apache-2.0
// A regular expression with {names} that stand for numbers. It is matched in time linear in the
// line: std::regex backtracks and recurses, and a log's lines may be long.
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::interop {

enum class RegexOperation { set, split, jump, save, assertion, done };
enum class RegexAssertion { line_begin, line_end, word, no_word, number_begin, number_end };
struct RegexInstruction {
  RegexOperation operation = RegexOperation::done;
  std::bitset<256> set;
  std::size_t next = 0, other = 0;  // a split prefers `next`
  std::size_t slot = 0;
  RegexAssertion assertion = RegexAssertion::line_begin;
};

class LineRegex {
 public:
  // Syntax: . * + ? *? {n} {n,m} [] () (?:) | ^ $ \d \w \s \b and their opposites. Throws
  // InputError that names `option`.
  LineRegex(std::string_view text, const std::string& option);

  // The names in the order in which they stand.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  // The numbers of the leftmost match, by the order of names; an alternative that was not taken has
  // an empty one.
  [[nodiscard]] std::optional<std::vector<std::string_view>> match(std::string_view line) const;

 private:
  std::vector<std::string> names_;
  std::vector<RegexInstruction> program_;
  std::bitset<256> first_;  // bytes with which a match can begin
};

}  // namespace meshwright::interop
