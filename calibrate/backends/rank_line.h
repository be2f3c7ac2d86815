// SPDX-License-Identifier: Apache-2.0
// The line on stderr by which a rank says why the job ends; launch/rank_failure.h reads it.
#pragma once

#include <fmt/format.h>

#include <string>

namespace meshwright::calibrate {

inline std::string rank_failure_line(int rank, const std::string& host, const std::string& cause) {
  return fmt::format("meshwright: rank {} on {}: {}", rank, host, cause);
}

}  // namespace meshwright::calibrate
