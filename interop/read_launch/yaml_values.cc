// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "interop/read_launch/document.h"
#include "interop/read_launch/flat_values.h"

namespace meshwright::interop {
namespace {

int yaml_line_of(const YAML::Node& node) { return node.Mark().line + 1; }
FlatValues::At yaml_place_of(const YAML::Node& node) {
  return {yaml_line_of(node), node.Mark().column + 1};
}

bool is_plain(const YAML::Node& node) { return node.IsScalar() || node.IsNull(); }

void flatten_yaml(const YAML::Node& node, const std::string& path, int depth, FlatValues& values) {
  values.check_depth(depth, yaml_line_of(node));
  if (node.IsScalar()) return values.add(path, {node.Scalar()}, yaml_place_of(node));
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
      flatten_yaml(entry.second, joined_key(path, key), depth + 1, values);
    }
    return;
  }
  if (!node.IsSequence()) return;
  if (std::all_of(node.begin(), node.end(),
                  [](const YAML::Node& each) { return is_plain(each); })) {
    std::vector<std::string> words;
    for (const YAML::Node& each : node) words.push_back(each.IsNull() ? "null" : each.Scalar());
    return values.add(path, std::move(words), yaml_place_of(node));
  }
  for (std::size_t i = 0; i < node.size(); ++i) {
    flatten_yaml(node[i], joined_key(path, std::to_string(i)), depth + 1, values);
  }
}

}  // namespace

Values values_of_yaml(std::string_view text, const std::string& file) {
  FlatValues values(file);
  try {
    flatten_yaml(YAML::Load(std::string(text)), "", 0, values);
  } catch (const YAML::Exception& error) {
    throw InputError(fmt::format("{}:{}:{}", file, error.mark.line + 1, error.mark.column + 1), "",
                     "is not YAML: " + error.msg);
  }
  return values.take();
}

}  // namespace meshwright::interop
