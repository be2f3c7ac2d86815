// SPDX-License-Identifier: Apache-2.0
// Changes of single keys in a YAML, TOML or JSON text. Its other bytes stay: order, comments,
// indentation.
#pragma once

#include <optional>
#include <string>

#include "interop/read_launch/launch_text.h"

namespace meshwright::interop {

// All return nothing where the key cannot be found in the text, or its value is of several lines.
std::optional<std::string> with_value(const std::string& text, LaunchTextKind kind,
                                      const std::string& key, const std::string& value);
std::optional<std::string> without_key(const std::string& text, LaunchTextKind kind,
                                       const std::string& key);
// Puts a key in, "section.name", behind one of the same section.
std::optional<std::string> with_new_key(const std::string& text, LaunchTextKind kind,
                                        const std::string& key, const std::string& value);

}  // namespace meshwright::interop
