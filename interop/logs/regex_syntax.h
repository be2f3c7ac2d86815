// SPDX-License-Identifier: Apache-2.0
// The syntax of a LineRegex, as a tree.
#pragma once

#include <bitset>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "interop/logs/line_regex.h"

namespace meshwright::interop {

using ByteSet = std::bitset<256>;

constexpr int kUnbounded = -1;
constexpr std::size_t kMostNames = 16;

inline unsigned char byte_of(char c) { return static_cast<unsigned char>(c); }
ByteSet byte_range(unsigned char from, unsigned char to);

struct PatternNode {
  enum class Kind { set, sequence, alternatives, repeat, assertion, number };
  Kind kind = Kind::sequence;
  ByteSet set{};
  std::vector<std::unique_ptr<PatternNode>> parts{};
  int least = 0, most = 0;  // of a repetition; most may be kUnbounded
  bool greedy = true;
  RegexAssertion assertion = RegexAssertion::line_begin;
  std::size_t slot = 0;  // of a number's begin
};

// Throws InputError that names `option`. Names of placeholders go into `names`.
std::unique_ptr<PatternNode> parse_pattern(std::string_view text, const std::string& option,
                                           std::vector<std::string>& names);

}  // namespace meshwright::interop
