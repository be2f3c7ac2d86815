// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/launch_text.h"

#include <algorithm>
#include <cctype>

#include "interop/read_launch/document.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/record/parse.h"

namespace meshwright::interop {
namespace {

// The first line that holds more than a comment.
std::string first_line(std::string_view text) {
  for (const std::string& line : split_lines(text)) {
    const std::size_t begin = line.find_first_not_of(" \t\xEF\xBB\xBF");
    if (begin == std::string::npos || line[begin] == '#' || line.substr(begin) == "---") continue;
    return trimmed_right(line.substr(begin));
  }
  return "";
}

bool is_toml_section(const std::string& line) {
  return line.size() > 2 && line.front() == '[' && line.back() == ']' &&
         line.find(' ') == std::string::npos;
}

// "key = value" with sections further on: as no shell command begins, either.
bool is_toml_key(const std::string& line, std::string_view text) {
  const std::size_t equals = line.find(" = ");
  const bool names =
      equals != std::string::npos && equals > 0 &&
      std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
      });
  if (!names) return false;
  const std::vector<std::string> lines = split_lines(text);
  return std::any_of(lines.begin(), lines.end(),
                     [](const std::string& each) { return is_toml_section(trimmed_right(each)); });
}

// "key:" or "key: value", as no shell command begins.
bool is_yaml_key(const std::string& line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos || colon == 0) return false;
  const bool ends = colon + 1 == line.size() || line[colon + 1] == ' ';
  const auto begin = line.begin();
  return ends && std::all_of(begin, begin + static_cast<std::ptrdiff_t>(colon), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                  c == '.' || c == '"' || c == '\'';
         });
}

// Some write YAML in braces, with comments and commas that JSON does not have.
LaunchText of_braces(LaunchText result) {
  try {
    result.document = values_of_json(result.text, result.file);
    result.kind = LaunchTextKind::json;
  } catch (const InputError&) {
    Values yaml;
    try {
      yaml = values_of_yaml(result.text, result.file);
    } catch (const InputError&) {
      yaml = {};
    }
    if (yaml.all().empty()) throw;
    result.document = std::move(yaml);
    result.kind = LaunchTextKind::yaml;
  }
  return result;
}

}  // namespace

LaunchText launch_text(std::string_view text, const std::string& file) {
  LaunchText result{text, file, LaunchTextKind::script, {}};
  const std::string line = first_line(text);
  if (looks_like_json(text) || line.starts_with('{')) return of_braces(std::move(result));
  if (is_toml_section(line) || is_toml_key(line, text)) {
    result.document = values_of_toml(text, file);
    result.kind = LaunchTextKind::toml;
  } else if (is_yaml_key(line)) {
    result.document = values_of_yaml(text, file);
    result.kind = LaunchTextKind::yaml;
  }
  return result;
}

bool has_key(const LaunchText& text, std::string_view key) { return text.document.has(key); }

bool has_section(const LaunchText& text, std::string_view prefix) {
  const auto& all = text.document.all();
  return std::any_of(all.begin(), all.end(),
                     [&](const Value& value) { return value.key.starts_with(prefix); });
}

bool has_any(const LaunchText& text, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (key.ends_with('.') ? has_section(text, key) : has_key(text, key)) return true;
  }
  return false;
}

}  // namespace meshwright::interop
