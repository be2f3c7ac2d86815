// SPDX-License-Identifier: Apache-2.0
// A shell's patterns: * is any text, ? any character, and a backslash makes the next character
// plain.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright::interop {

class ShellGlob {
 public:
  explicit ShellGlob(std::string_view pattern);

  // false: the pattern has a [class], and matches nothing here.
  [[nodiscard]] bool understood() const { return understood_; }
  [[nodiscard]] bool plain() const { return understood_ && kinds_.find_first_not_of('c') == kNone; }
  [[nodiscard]] const std::string& characters() const { return characters_; }
  [[nodiscard]] bool matches(std::string_view text) const;
  // Length of the longest or shortest part at the start, or at the end, that matches.
  [[nodiscard]] std::optional<std::size_t> length_in(std::string_view text, bool at_end,
                                                     bool longest) const;
  // Upper limits on the steps of the two.
  [[nodiscard]] std::size_t steps(std::size_t characters) const;
  [[nodiscard]] std::size_t length_steps(std::size_t characters) const;

 private:
  static constexpr std::size_t kNone = std::string::npos;
  bool understood_ = true;
  std::string characters_, kinds_;  // one each: 'c' as it is, '?' any, '*' any text
};

}  // namespace meshwright::interop
