// SPDX-License-Identifier: Apache-2.0
// Characters of UTF-8. Well-formed is Table 3-7 of the Unicode standard: no overlong forms, no
// surrogates, nothing past U+10FFFF.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright {

// Where the first byte stands that belongs to no character; nothing when all do.
std::optional<std::size_t> first_byte_not_utf8(std::string_view text);
// The text with U+FFFD where bytes belong to no character.
std::string valid_utf8(std::string_view text);
// Characters, and bytes that belong to none.
std::size_t num_characters(std::string_view text);

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // length, 1 to 4
};
// Returns the first character of a text that is not empty; U+FFFD of one byte if the bytes are no
// character.
Character first_character(std::string_view text);

}  // namespace meshwright
