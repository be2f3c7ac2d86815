// SPDX-License-Identifier: Apache-2.0
#include "app/files/inner_files.h"

#include <filesystem>
#include <set>

#include "app/files/config_names.h"
#include "app/files/files.h"
#include "sim/base/error.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

// Reads JSON, or returns null for an unreadable file. Errors are reported when its content is read.
Json json_or_null(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return nullptr;
  try {
    return read_json_file(path);
  } catch (const InputError&) {
    return nullptr;
  }
}

// The member's text, or nothing.
std::string file_text(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_string()) return "";
  return object[key].get<std::string>();
}

}  // namespace

std::vector<std::string> files_in_cluster(const std::string& path) {
  const std::string file = find_config(path, "clusters");
  const Json cluster = json_or_null(file);
  std::vector<std::string> parts;
  for (const ClusterPart& part : {kDevicePart, kFrameworkPart}) {
    const std::string name = file_text(cluster, part.key);
    if (!name.empty()) parts.push_back(file_of_part(name, part, file));
  }
  return parts;
}

std::vector<std::string> files_in_measurements(const std::string& path) {
  const Json set = json_or_null(path);
  if (!set.is_object() || !set.contains("runs") || !set["runs"].is_array()) return {};
  std::set<std::string> models, clusters, frameworks;
  for (const Json& run : set["runs"]) {
    models.insert(file_text(run, "model"));
    clusters.insert(file_text(run, "cluster"));
    frameworks.insert(file_text(run, "framework"));
  }
  std::vector<std::string> files;
  for (const std::string& name : models) files.push_back(find_config(name, "models"));
  for (const std::string& name : frameworks) files.push_back(find_config(name, "frameworks"));
  for (const std::string& name : clusters) {
    files.push_back(find_config(name, "clusters"));
    for (std::string& part : files_in_cluster(name)) files.push_back(std::move(part));
  }
  return files;
}

}  // namespace meshwright::app
