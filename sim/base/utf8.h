// SPDX-License-Identifier: Apache-2.0
// Text that can stand in JSON. Well-formed UTF-8 is Table 3-7 of the Unicode
// standard: no overlong forms, no surrogates, nothing past U+10FFFF.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace meshwright {

// Where the first byte stands that belongs to no character; nothing when all do.
std::optional<std::size_t> first_byte_not_utf8(std::string_view text);

}  // namespace meshwright
