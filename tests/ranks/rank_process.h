// SPDX-License-Identifier: Apache-2.0
// Files that a run leaves, and the process of one of its ranks, to be killed.
#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/record/json.h"

namespace meshwright::test {

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline Json json_of(const std::string& path) { return Json::parse(content_of(path)); }

inline bool has_environment(const std::filesystem::path& process, const std::string& variable) {
  const std::string environment = content_of(process / "environ");
  return environment.find(variable + '\0') != std::string::npos;
}

// The process of rank 1 of the program that was given `argument`; 0 when there is none.
inline int rank_one_of(const std::string& argument) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (!std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; }))
      continue;
    if (content_of(entry.path() / "cmdline").find(argument) == std::string::npos) continue;
    if (has_environment(entry.path(), std::string("OMPI_COMM_WORLD_RANK=1")))
      return std::stoi(name);
  }
  return 0;
}

}  // namespace meshwright::test
