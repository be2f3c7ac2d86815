// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_report.h"

#include <fmt/format.h>

#include <regex>

#include "sim/base/text.h"

namespace meshwright::calibrate {

std::string report_line(const RankReport& r) {
  return fmt::format("meshwright-progress: rank {} on {}: {} operations, {} up to {:.1f} s, {}",
                     r.rank, r.host, r.operations, r.waits ? "waits" : "works", r.slow_seconds,
                     r.operation);
}

std::optional<RankReport> report_from_line(std::string_view line) {
  static const std::regex pattern(
      R"(meshwright-progress: rank (\d{1,9}) on (\S+): (\d{1,18}) operations, (waits|works) up to (\d{1,15}\.\d) s, (.*)$)");
  line = line.substr(0, kLongestRankLine);
  if (!contains(line, "meshwright-progress")) return std::nullopt;
  std::cmatch match;
  if (!std::regex_search(line.data(), line.data() + line.size(), match, pattern)) {
    return std::nullopt;
  }
  return RankReport{.rank = std::stoi(match[1]),
                    .host = match[2],
                    .operations = std::stoull(match[3]),
                    .waits = match[4] == "waits",
                    .slow_seconds = std::stod(match[5]),
                    .operation = match[6]};
}

}  // namespace meshwright::calibrate
