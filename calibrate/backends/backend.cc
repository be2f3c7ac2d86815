// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/backend.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::calibrate {
namespace {

namespace fs = std::filesystem;

// MESHWRIGHT_MODULE_PATH (colon-separated) first: what the user names wins over what was installed.
std::vector<fs::path> search_folders() {
  std::vector<fs::path> folders;
  if (const char* path = std::getenv("MESHWRIGHT_MODULE_PATH")) {
    for (const std::string& part : split(path, ':')) {
      if (!part.empty()) folders.emplace_back(part);
    }
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    folders.push_back(program.parent_path());
    folders.push_back(program.parent_path().parent_path() / "lib" / "meshwright");
  }
  return folders;
}

bool was_built(const std::string& name) {
  return std::find(built_modules().begin(), built_modules().end(), name) != built_modules().end();
}

fs::path find_module_file(const std::string& name) {
  const std::string file = fmt::format("libmeshwright_{}.so", name);
  std::vector<std::string> looked;
  for (const fs::path& folder : search_folders()) {
    std::error_code error;
    if (fs::exists(folder / file, error)) return folder / file;
    looked.push_back(folder.string());
  }
  throw SystemError(fmt::format("backend {}: {} is not in {}", name, file, fmt::join(looked, ", ")),
                    was_built(name)
                        ? "set MESHWRIGHT_MODULE_PATH to the folder that holds the modules"
                        : fmt::format("this program was built with the backends: {}",
                                      fmt::join(built_modules(), ", ")));
}

Backend& load(const std::string& name) {
  const std::string file = find_module_file(name).string();
  // Open MPI opens plugins of its own, which look for its symbols in the global scope.
  const bool holds_mpi = name == "mpi" || name == "nccl";
  const int scope = holds_mpi ? RTLD_GLOBAL : RTLD_LOCAL;
  void* handle = dlopen(file.c_str(), RTLD_NOW | scope);
  if (handle == nullptr) {
    throw SystemError(fmt::format("backend {}: cannot open {}: {}", name, file, dlerror()),
                      "a library that the backend needs may be missing; try ldd on that file");
  }
  using EntryPoint = Backend* (*)();
  const auto entry = reinterpret_cast<EntryPoint>(dlsym(handle, "meshwright_backend"));
  Backend* module = entry == nullptr ? nullptr : entry();
  if (module == nullptr) {
    throw SystemError(fmt::format("backend {}: {} is not a meshwright module", name, file));
  }
  return *module;
}

}  // namespace

std::string communication_module(const std::string& compute_backend, int ranks) {
  if (compute_backend != "cuda") return "mpi";
  return ranks == 1 && !was_built("nccl") ? "mpi" : "nccl";
}

Backend& open_backend(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, Backend*> opened;
  const std::lock_guard lock(mutex);
  const auto found = opened.find(name);
  if (found != opened.end()) return *found->second;
  Backend& module = load(name);
  opened.emplace(name, &module);
  return module;
}

}  // namespace meshwright::calibrate
