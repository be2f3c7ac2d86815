// SPDX-License-Identifier: Apache-2.0
#include "app/observations.h"

#include <fmt/format.h>

#include "sim/json/reader.h"
#include "sim/json/records.h"

namespace meshwright::app {

std::vector<Observation> observations_from_json(const nlohmann::json& json,
                                                const std::string& file) {
  const bool bare = json.is_array();
  const nlohmann::json& list =
      bare ? json : ObjectReader(json, file).required_array("observations");
  std::vector<Observation> observations;
  for (std::size_t i = 0; i < list.size(); ++i) {
    observations.push_back(
        observation_from_json(list[i], file, fmt::format("{}/{}", bare ? "" : "/observations", i)));
  }
  return observations;
}

}  // namespace meshwright::app
