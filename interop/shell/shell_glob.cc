// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_glob.h"

namespace meshwright::interop {

ShellGlob::ShellGlob(std::string_view pattern) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool escaped = pattern[i] == '\\' && i + 1 < pattern.size();
    if (escaped) ++i;
    const char c = pattern[i];
    if (!escaped && c == '[') understood_ = false;
    const bool special = !escaped && (c == '*' || c == '?');
    if (special && c == '*' && kinds_.ends_with('*')) continue;
    characters_ += c;
    kinds_ += special ? c : 'c';
  }
}

// The last * takes one character more each time that the rest does not match.
bool ShellGlob::matches(std::string_view text) const {
  if (!understood_) return false;
  std::size_t at = 0, in_pattern = 0, star = kNone, star_at = 0;
  while (at < text.size()) {
    const char kind = in_pattern < kinds_.size() ? kinds_[in_pattern] : 'e';
    if (kind == '*') {
      star = in_pattern++;
      star_at = at;
    } else if (kind == '?' || (kind == 'c' && characters_[in_pattern] == text[at])) {
      ++at;
      ++in_pattern;
    } else if (star != kNone) {
      at = ++star_at;
      in_pattern = star + 1;
    } else {
      return false;
    }
  }
  return kinds_.find_first_not_of('*', in_pattern) == kNone;
}

std::optional<std::size_t> ShellGlob::length_in(std::string_view text, bool at_end,
                                                bool longest) const {
  const std::size_t all = text.size();
  for (std::size_t i = 0; i <= all; ++i) {
    const std::size_t length = longest ? all - i : i;
    if (matches(at_end ? text.substr(all - length) : text.substr(0, length))) return length;
  }
  return std::nullopt;
}

std::size_t ShellGlob::steps(std::size_t characters) const {
  const bool searches = kinds_.find('*') < kinds_.size() - 1;
  return searches ? (characters + 1) * kinds_.size() : characters + kinds_.size();
}

std::size_t ShellGlob::length_steps(std::size_t characters) const {
  return (characters + 1) * steps(characters);
}

}  // namespace meshwright::interop
