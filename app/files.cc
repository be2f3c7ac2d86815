// SPDX-License-Identifier: Apache-2.0
#include "app/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "app/generated/paths.h"
#include "interop/huggingface.h"
#include "reports/sha256.h"
#include "sim/base/error.h"
#include "sim/json/reader.h"
#include "sim/json/records.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMebibyte = 1'048'576;
constexpr std::uintmax_t kLargestInput = 64 * kMebibyte;

std::vector<std::string> names_beside(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

void check_readable(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    const std::string near = nearest(fs::path(path).filename().string(), names_beside(path));
    throw InputError(path, "", "no such file",
                     near.empty() ? "" : fmt::format("did you mean {}?", near));
  }
  if (fs::is_directory(status)) throw InputError(path, "", "is a directory; a JSON file is needed");
  if (!fs::is_regular_file(status)) return;  // a pipe has no size
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > kLargestInput) {
    throw InputError(path, "",
                     fmt::format("is {} MiB; a file of at most {} MiB is read", size / kMebibyte,
                                 kLargestInput / kMebibyte));
  }
}

}  // namespace

std::string find_config(const std::string& path, const std::string& folder) {
  if (folder.empty() || fs::exists(path) || path.find('/') != std::string::npos) return path;
  const fs::path shipped = fs::path(configs_directory()) / folder / (path + ".json");
  return fs::exists(shipped) ? shipped.string() : path;
}

std::string read_text_file(const std::string& path) {
  check_readable(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path, "", fmt::format("cannot be read: {}", std::strerror(errno)));
  std::string text;
  char buffer[65536];
  while (in.read(buffer, sizeof buffer) || in.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kLargestInput) {
      throw InputError(path, "", fmt::format("is larger than {} MiB", kLargestInput / kMebibyte));
    }
  }
  return text;
}

namespace {

nlohmann::json json_of(const std::string& content, const std::string& path) {
  try {
    return nlohmann::json::parse(content);
  } catch (const nlohmann::json::parse_error& e) {
    // The library's text after its "[json.exception...]" tag names line and column.
    const std::string text = e.what();
    const std::size_t tag = text.find("] ");
    throw InputError(path, "",
                     "is not JSON: " + (tag == std::string::npos ? text : text.substr(tag + 2)));
  }
}

}  // namespace

nlohmann::json read_json_file(const std::string& path) {
  return json_of(read_text_file(path), path);
}

nlohmann::json read_input(const std::string& name, const std::string& file,
                          reports::Origin& origin) {
  const std::string text = read_text_file(file);
  origin.inputs.push_back({.name = name, .file = file, .sha256 = reports::sha256(text)});
  return json_of(text, file);
}

std::string configs_directory() {
  if (const char* set = std::getenv("MESHWRIGHT_CONFIGS"); set != nullptr) return set;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed =
      program.parent_path().parent_path() / "share" / "meshwright" / "configs";
  if (!error && fs::is_directory(installed, error)) return installed.string();
  return std::string(kSourceDirectory) + "/configs";
}

Model load_model(const std::string& path) {
  const std::string file = find_config(path, "models");
  const nlohmann::json json = read_json_file(file);
  Model model = interop::looks_like_huggingface(json) ? interop::model_from_huggingface(json, file)
                                                      : model_from_json(json, file);
  if (model.name.empty()) model.name = fs::path(file).stem().string();
  return model;
}

Cluster load_cluster(const std::string& path) {
  const std::string file = find_config(path, "clusters");
  nlohmann::json json = read_json_file(file);
  if (json.is_object() && json.value("schema", "") == "meshwright.profile/1") {
    ObjectReader profile(json, file);
    return cluster_from_json(profile.member("cluster"), file, "/cluster");
  }
  // A device and a framework may stand in files of their own.
  for (const char* part : {"device", "framework"}) {
    if (!json.is_object() || !json.contains(part) || !json[part].is_string()) continue;
    const fs::path beside = fs::path(file).parent_path() / json[part].get<std::string>();
    json[part] = read_json_file(beside.string());
  }
  Cluster cluster = cluster_from_json(json, file);
  if (cluster.name.empty()) cluster.name = fs::path(file).stem().string();
  return cluster;
}

Job load_job(const std::string& path, const Job& defaults) {
  const std::string file = find_config(path, "jobs");
  return job_from_json(read_json_file(file), file, "", defaults);
}

Layout load_layout(const std::string& path_or_text, const Layout& defaults) {
  if (path_or_text.find('=') != std::string::npos ||
      path_or_text.find(".json") == std::string::npos) {
    return layout_from_text(path_or_text, defaults);
  }
  return layout_from_json(read_json_file(path_or_text), path_or_text, "", defaults);
}

}  // namespace meshwright::app
