// SPDX-License-Identifier: Apache-2.0
#include "app/files/serving_files.h"

#include <filesystem>

#include "app/files/files.h"
#include "sim/json/serving_records.h"

namespace meshwright::app {

ServingCluster load_serving_cluster(const std::string& path, reports::Origin* origin) {
  ServingCluster found{load_cluster(path, nullptr, origin), {}};
  const std::string file = require_config(path, "clusters");
  Json json = read_json_file(file);
  std::string pointer = "/device/inference";
  if (json.contains("cluster") && !json.contains("device")) {  // a measured profile
    json = Json(json["cluster"]);
    pointer = "/cluster" + pointer;
  }
  if (!json.contains("device")) return found;
  std::string source = file;
  Json device = json["device"];
  if (device.is_string()) {
    source = file_of_part(device.get<std::string>(), kDevicePart, file);
    device = read_json_file(source);
    pointer = "/inference";
  }
  if (device.is_object() && device.contains("inference")) {
    found.inference = inference_rates_from_json(device["inference"], source, pointer);
  }
  return found;
}

Engine load_engine(const std::string& path) {
  const std::string file = require_config(path, "engines");
  Engine engine = engine_from_json(read_json_file(file), file);
  if (engine.name.empty()) engine.name = std::filesystem::path(file).stem().string();
  return engine;
}

}  // namespace meshwright::app
