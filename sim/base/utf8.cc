// SPDX-License-Identifier: Apache-2.0
#include "sim/base/utf8.h"

#include <utf8.h>

#include <iterator>

namespace meshwright {

std::optional<std::size_t> first_byte_not_utf8(std::string_view text) {
  const auto wrong = utf8::find_invalid(text.begin(), text.end());
  if (wrong == text.end()) return std::nullopt;
  return static_cast<std::size_t>(wrong - text.begin());
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  utf8::replace_invalid(text.begin(), text.end(), std::back_inserter(valid));
  return valid;
}

std::size_t num_characters(std::string_view text) {
  std::size_t count = 0;
  while (true) {
    const std::size_t good = first_byte_not_utf8(text).value_or(text.size());
    count += static_cast<std::size_t>(utf8::unchecked::distance(text.data(), text.data() + good));
    if (good == text.size()) return count;
    ++count;
    text.remove_prefix(good + 1);
  }
}

Character first_character(std::string_view text) {
  constexpr char32_t kNone = 0xFFFD;
  auto next = text.begin();
  try {
    const char32_t code = utf8::next(next, text.end());
    return {code, static_cast<std::size_t>(next - text.begin())};
  } catch (const utf8::exception&) {
    return {kNone, 1};
  }
}

}  // namespace meshwright
