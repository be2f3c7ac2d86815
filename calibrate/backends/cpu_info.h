// SPDX-License-Identifier: Apache-2.0
// What Linux says of the host's processor. Inline: the cpu backend is a shared object of its own.
#pragma once

#include <fstream>
#include <string>

namespace meshwright::calibrate {

// The value of the first line "key : value" of /proc/cpuinfo; empty where there is none.
inline std::string cpu_info(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    return colon + 2 <= line.size() ? line.substr(colon + 2) : "";
  }
  return "";
}

}  // namespace meshwright::calibrate
