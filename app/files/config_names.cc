// SPDX-License-Identifier: Apache-2.0
#include "app/files/config_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "app/console/build.h"
#include "app/console/terminal.h"
#include "app/files/config_synonym.h"
#include "app/files/config_words.h"
#include "sim/base/error.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

bool is_bare(const std::string& name) { return name.find('/') == std::string::npos; }

bool is_file(const fs::path& path) {
  std::error_code unreadable;  // said when it is read
  const fs::file_status status = fs::status(path, unreadable);
  return fs::exists(status) && !fs::is_directory(status);
}

}  // namespace

std::string configs_directory() {
  if (const char* set = std::getenv("MESHWRIGHT_CONFIGS"); set != nullptr) return set;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed =
      program.parent_path().parent_path() / "share" / "meshwright" / "configs";
  if (!error && fs::is_directory(installed, error)) return installed.string();
  return std::string(kSourceDirectory) + "/configs";
}

std::string find_config(const std::string& path, const std::string& folder) {
  if (folder.empty() || !is_bare(path) || is_file(path)) return path;
  const fs::path shipped = fs::path(configs_directory()) / folder / (path + ".json");
  return is_file(shipped) ? shipped.string() : path;
}

std::string require_config(const std::string& path, const std::string& folder, Reading reading) {
  std::string found = find_config(path, folder);
  if (is_file(found)) return found;
  const auto read_as = [&](const std::string& meant) {
    if (reading == Reading::said) say("{} is read as {}\n", path, meant);
    return find_config(meant, folder);
  };
  if (const std::string meant = config_synonym(path, folder); !meant.empty()) return read_as(meant);
  if (!is_bare(path) || path.ends_with(".json")) return found;
  const ConfigsWithWords near = configs_with_words(path, folder);
  if (near.all_words && near.names.size() == 1) return read_as(near.names.front());
  const std::vector<std::string> names = config_names(folder);
  const std::string hint =
      near.names.empty() ? did_you_mean(path, names) : "use " + near.names.back();
  if (near.all_words && !near.names.empty()) {
    throw InputError(path, "",
                     fmt::format("several shipped records in configs/{} have this in their names: "
                                 "{}",
                                 folder, fmt::join(near.names, ", ")),
                     hint);
  }
  throw InputError(
      path, "",
      fmt::format("not found: no file and no shipped record in configs/{} has this name; "
                  "expected one of {}",
                  folder, fmt::join(names, ", ")),
      hint);
}

std::vector<std::string> config_names(const std::string& folder) {
  const fs::path path = fs::path(configs_directory()) / folder;
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  if (error) {
    throw InputError(path.string(), "",
                     "is not the folder of the shipped files: " + error.message(),
                     "set MESHWRIGHT_CONFIGS to the folder");
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace meshwright::app
