// SPDX-License-Identifier: Apache-2.0
// A text that somebody gave as a launch: a document with keys, or a script.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "interop/read_launch/values.h"

namespace meshwright::interop {

enum class LaunchTextKind : std::uint8_t { script, json, yaml, toml };

struct LaunchText {
  std::string_view text;
  std::string file;
  LaunchTextKind kind = LaunchTextKind::script;
  Values document;  // empty for a script
};

// Throws InputError where the text is JSON, YAML or TOML by its first line and is broken.
LaunchText launch_text(std::string_view text, const std::string& file);

// Tells whether the document has a key, or a key below a section ("trainer.").
bool has_key(const LaunchText& text, std::string_view key);
bool has_section(const LaunchText& text, std::string_view prefix);

// Any of them; a name that ends with a dot is a section's.
bool has_any(const LaunchText& text, std::initializer_list<std::string_view> keys);

inline bool is_script(const LaunchText& text) { return text.kind == LaunchTextKind::script; }
inline bool is_document(const LaunchText& text) { return !is_script(text); }

}  // namespace meshwright::interop
