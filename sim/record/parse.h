// SPDX-License-Identifier: Apache-2.0
// JSON text of a user's file as a value. Every reader takes its values from here, so that no file
// can exhaust the stack or the memory, and none says one thing twice.
#pragma once

#include <string>
#include <string_view>

#include "sim/record/json.h"

namespace meshwright {

// The records are about ten deep, and the largest plans hold a few hundred thousand values.
inline constexpr std::size_t kDeepestJson = 100;
inline constexpr std::size_t kMostJsonValues = 2'000'000;

// Throws InputError naming `file`: not JSON (line and column), nested deeper than kDeepestJson,
// more than kMostJsonValues values, a number that no double holds, a key twice in one object (the
// last three with their JSON pointer). Comments, `// ...` to the end of a line and `/* ... */`, are
// skipped.
Json parse_json(const std::string& text, const std::string& file);

// Tells whether an object begins behind a byte order mark and white space.
bool looks_like_json(std::string_view text);

}  // namespace meshwright
