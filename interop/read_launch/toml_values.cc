// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <sstream>

#include "interop/read_launch/document.h"
#include "interop/read_launch/flat_values.h"

namespace meshwright::interop {
namespace {

int toml_line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }
FlatValues::At toml_place_of(const toml::node& node) {
  return {toml_line_of(node), static_cast<int>(node.source().begin.column)};
}

std::string word_of_node(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  std::ostringstream out;
  out << toml::node_view<const toml::node>(node);
  return out.str();
}

void flatten_toml(const toml::node& node, const std::string& path, int depth, FlatValues& values) {
  values.check_depth(depth, toml_line_of(node));
  if (const toml::table* table = node.as_table()) {
    for (const auto& [key, value] : *table) {
      flatten_toml(value, joined_key(path, std::string(key.str())), depth + 1, values);
    }
    return;
  }
  const toml::array* list = node.as_array();
  if (list == nullptr) return values.add(path, {word_of_node(node)}, toml_place_of(node));
  std::vector<std::string> words;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const toml::node& each = *list->get(i);
    if (each.is_table() || each.is_array()) {
      flatten_toml(each, joined_key(path, std::to_string(i)), depth + 1, values);
    } else {
      words.push_back(word_of_node(each));
    }
  }
  values.add(path, std::move(words), toml_place_of(node));
}

}  // namespace

Values values_of_toml(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  FlatValues values(file);
  try {
    flatten_toml(toml::parse(text), "", 0, values);
  } catch (const toml::parse_error& error) {
    throw InputError(
        fmt::format("{}:{}:{}", file, error.source().begin.line, error.source().begin.column), "",
        fmt::format("is not TOML: {}", error.description()));
  }
  return values.take();
}

}  // namespace meshwright::interop
