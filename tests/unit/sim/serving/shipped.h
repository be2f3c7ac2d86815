// SPDX-License-Identifier: Apache-2.0
// Shipped models, clusters and engines, as the program reads them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/json/records.h"
#include "sim/json/serving_records.h"
#include "tests/paths.h"

namespace meshwright::test {

inline Json read_shipped(const std::string& name) {
  std::ifstream stream(std::filesystem::path(MESHWRIGHT_SOURCE_DIR) / "configs" / name);
  return Json::parse(stream);
}
inline Model shipped_model(const std::string& name) {
  return model_from_json(read_shipped("models/" + name + ".json"), name);
}
inline Engine shipped_engine(const std::string& name) {
  return engine_from_json(read_shipped("engines/" + name + ".json"), name);
}
inline ServingCluster shipped_cluster(const std::string& name) {
  Json json = read_shipped("clusters/" + name + ".json");
  ServingCluster cluster;
  for (const char* part : {"device", "framework"}) {
    if (!json.contains(part) || !json[part].is_string()) continue;
    std::ifstream stream(std::filesystem::path(MESHWRIGHT_SOURCE_DIR) / "configs/clusters" /
                         json[part].get<std::string>());
    json[part] = Json::parse(stream);
  }
  if (json["device"].contains("inference")) {
    cluster.inference = inference_rates_from_json(json["device"]["inference"], name);
  }
  static_cast<Cluster&>(cluster) = cluster_from_json(json, name);
  return cluster;
}

}  // namespace meshwright::test
