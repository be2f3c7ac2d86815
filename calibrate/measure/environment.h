// SPDX-License-Identifier: Apache-2.0
// The machine that was measured, as a profile keeps it: enough to judge a number later. NCCL's
// variables are the only part of the environment that is kept.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.h"

namespace meshwright::calibrate {

struct MachineDescription {
  std::string host;
  std::string cpu;
  int cores = 0;  // of the machine, hyper-threads counted
  Bytes memory;
  std::string kernel;                                                 // "Linux 6.1.0"
  double load_average = 0.0;                                          // one minute, at the start
  std::vector<std::pair<std::string, std::string>> details{};         // libraries, driver, clocks
  std::vector<std::pair<std::string, std::string>> nccl_variables{};  // NCCL_ALGO and its like
  bool operator==(const MachineDescription&) const = default;
};

MachineDescription describe_machine();
// Selects NCCL's variables from "NAME=value" entries, sorted by name. Characters that are not
// printable ASCII become '?'.
std::vector<std::pair<std::string, std::string>> nccl_variables(
    const std::vector<std::string>& environment);
// "2026-01-31T12:00:00Z"; honours SOURCE_DATE_EPOCH, so that files can be reproduced.
std::string utc_now();

}  // namespace meshwright::calibrate
