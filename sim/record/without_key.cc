// SPDX-License-Identifier: Apache-2.0
#include "sim/record/without_key.h"

#include <utility>

namespace meshwright {

Json without_key(Json json, std::string_view key) {
  if (!json.is_object() || !json.contains(key)) return json;
  Json kept = Json::object();
  for (auto& [name, value] : json.items()) {
    if (name != key) kept[name] = std::move(value);
  }
  return kept;
}

}  // namespace meshwright
