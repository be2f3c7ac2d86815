// SPDX-License-Identifier: Apache-2.0
// A regular expression with {names} that stand for numbers, by Boost.Regex, which neither recurses
// nor runs without bound on a long line as std::regex does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::interop {

class LineRegex {
 public:
  // Perl's syntax. Throws InputError that names `option`.
  LineRegex(std::string_view text, const std::string& option);
  ~LineRegex();
  LineRegex(const LineRegex&) = delete;
  LineRegex& operator=(const LineRegex&) = delete;

  // The names in the order in which they stand.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  // The numbers of the leftmost match, by the order of names; an alternative that was not taken has
  // an empty one. Throws InputError where a line takes the expression too many steps.
  [[nodiscard]] std::optional<std::vector<std::string_view>> match(std::string_view line) const;

 private:
  struct Compiled;
  std::string option_;
  std::vector<std::string> names_;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace meshwright::interop
