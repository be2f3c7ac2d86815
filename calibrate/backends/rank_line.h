// SPDX-License-Identifier: Apache-2.0
// How a rank ends a job: the line on stderr that says why, which launch/rank_failure.h reads, and
// the exit code.
#pragma once

#include <fmt/format.h>

#include <string>

namespace meshwright::calibrate {

inline constexpr int kSystemFailure = 3;

inline std::string rank_failure_line(int rank, const std::string& host, const std::string& cause) {
  return fmt::format("meshwright: rank {} on {}: {}", rank, host, cause);
}

}  // namespace meshwright::calibrate
