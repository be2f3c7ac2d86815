// SPDX-License-Identifier: Apache-2.0
// Configurations that torchtitan ships, by name (configs/recipes/torchtitan.json).
#include <algorithm>

#include "interop/read_launch/shipped_recipes.h"
#include "interop/read_launch/torchtitan.h"
#include "sim/base/text.h"

namespace meshwright::interop {

// "torchtitan/models/llama3/train_configs/debug_model.toml" is llama3's.
std::string titan_configuration(std::string_view name) {
  const std::vector<std::string> parts = split(name, '/');
  std::string stem = parts.empty() ? "" : parts.back();
  if (stem.ends_with(".toml")) stem.resize(stem.size() - 5);
  if (stem == "debug_model" && parts.size() >= 3) stem = parts[parts.size() - 3] + "_debugmodel";
  std::replace(stem.begin(), stem.end(), '.', '_');
  return torchtitan_recipes().has(stem) ? stem : "";
}

Values titan_values(const std::string& configuration, const std::string& said, const Place& place) {
  Values values;
  for (Value value : torchtitan_recipes().values(configuration).all()) {
    value.said = said;
    value.place = place;
    values.add(std::move(value));
  }
  return values;
}

std::string titan_configuration_names() {
  std::string names;
  for (const std::string& each : torchtitan_recipes().names()) {
    if (!contains(each, "debugmodel")) append_to_list(names, ", ", each);
  }
  return names;
}

}  // namespace meshwright::interop
