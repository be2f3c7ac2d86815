// SPDX-License-Identifier: Apache-2.0
// What a rank that we started says of itself, about once a second, in a line on stderr that the
// launcher reads and does not show: so it also comes from other hosts.
//
// Progress is operations completed by the main thread. The lines are written by a thread of their
// own: lines that stop coming mean a stopped process, lines that repeat themselves a main thread
// that hangs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright::calibrate {

// Longest line that is parsed, in bytes. std::regex recurses, so the length must be bounded.
inline constexpr std::size_t kLongestRankLine = 4096;

struct RankReport {
  int rank = 0;
  std::string host;
  std::uint64_t operations = 0;  // begun and ended so far
  bool waits = false;            // for other ranks, in a transfer
  double slow_seconds = 0.0;     // time that the operation may take on a slow machine
  std::string operation;         // "in all_reduce of 1 MiB"
};

std::string report_line(const RankReport& report);
// Empty when the line is none. mpirun may have put a tag before it.
std::optional<RankReport> report_from_line(std::string_view line);

}  // namespace meshwright::calibrate
