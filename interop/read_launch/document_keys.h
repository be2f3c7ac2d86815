// SPDX-License-Identifier: Apache-2.0
// Whether a text looks like a YAML or JSON document with certain keys. Nothing is parsed, so any
// text may be asked.
#pragma once

#include <string_view>

namespace meshwright::interop {

// Whether the text holds `key:`, quoted or not, as a whole word. "-" and "_" are the same.
bool says_key(std::string_view text, std::string_view key);

}  // namespace meshwright::interop
