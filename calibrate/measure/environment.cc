// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "calibrate/backends/cpu_info.h"

namespace meshwright::calibrate {
namespace {

std::string cpu_name() {
  const std::string name = cpu_info("model name");
  return name.empty() ? "unknown" : name;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> nccl_variables(
    const std::vector<std::string>& environment) {
  std::vector<std::pair<std::string, std::string>> found;
  for (std::string entry : environment) {
    const auto equals = entry.find('=');
    if (!entry.starts_with("NCCL_") || equals == std::string::npos) continue;
    std::replace_if(
        entry.begin(), entry.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    found.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  std::sort(found.begin(), found.end());
  return found;
}

MachineDescription describe_machine() {
  MachineDescription machine;
  utsname names{};
  if (uname(&names) == 0) {
    machine.host = names.nodename;
    machine.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  }
  machine.cpu = cpu_name();
  machine.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // a bound rank sees one
  machine.memory = bytes(static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<double>(sysconf(_SC_PAGE_SIZE)));
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    environment.emplace_back(*entry);
  }
  machine.nccl_variables = nccl_variables(environment);
  double load = 0.0;
  if (getloadavg(&load, 1) == 1) machine.load_average = load;
  return machine;
}

std::string utc_now() {
  std::time_t now = std::time(nullptr);
  if (const char* fixed = std::getenv("SOURCE_DATE_EPOCH")) {
    now = static_cast<std::time_t>(std::strtoll(fixed, nullptr, 10));
  }
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace meshwright::calibrate
