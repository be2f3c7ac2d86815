// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

namespace meshwright::calibrate {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

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
