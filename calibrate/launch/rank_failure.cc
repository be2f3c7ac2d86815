// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_failure.h"

#include <fmt/format.h>

#include <regex>

#include "calibrate/launch/rank_report.h"

namespace meshwright::calibrate {

void RankFailureReader::read_line(std::string_view line) {
  if (from_rank_) return;
  line = line.substr(0, kLongestRankLine);
  read_rank_line(line);
  if (!from_rank_) read_mpirun_line(line);
}

void RankFailureReader::read_rank_line(std::string_view line) {
  static const std::regex pattern(R"(^meshwright: rank (\d{1,9}) on (\S+): (.*)$)");
  std::cmatch match;
  if (!std::regex_match(line.data(), line.data() + line.size(), match, pattern)) return;
  failure_ = {.rank = std::stoi(match[1]), .host = match[2], .cause = match[3]};
  from_rank_ = true;
}

void RankFailureReader::read_mpirun_line(std::string_view line) {
  static const std::regex signal(
      R"(process rank (\d{1,9}) with PID \d+ on node (\S+) exited on signal (\d{1,9}) \((.*)\))");
  static const std::regex abort(R"(MPI_ABORT was invoked on rank (\d{1,9}))");
  static const std::regex process(R"(Process name: \[.*,(\d{1,9})\])");
  static const std::regex exit_code(R"(Exit code:\s+(\d{1,9}))");
  static const std::regex improper(R"(exited due to process rank (\d{1,9}))");
  static const std::regex slots(R"(not enough slots available)");
  const char* begin = line.data();
  const char* end = begin + line.size();
  std::cmatch match;
  if (std::regex_search(begin, end, match, signal)) {
    failure_ = {
        .rank = std::stoi(match[1]),
        .host = match[2],
        .cause = fmt::format("was killed by signal {} ({})", match[3].str(), match[4].str())};
  } else if (std::regex_search(begin, end, match, process)) {
    if (failure_.rank < 0) failure_.rank = std::stoi(match[1]);
    exit_code_follows_ = failure_.cause.empty();
  } else if (exit_code_follows_ && std::regex_search(begin, end, match, exit_code)) {
    failure_.cause = fmt::format("ended with exit code {}", match[1].str());
  } else if (!failure_.cause.empty()) {
    return;
  } else if (std::regex_search(begin, end, match, abort)) {
    failure_ = {.rank = std::stoi(match[1]), .host = "", .cause = "called MPI_Abort"};
  } else if (std::regex_search(begin, end, match, improper)) {
    failure_ = {.rank = std::stoi(match[1]), .host = "", .cause = "ended without MPI_Finalize"};
  } else if (std::regex_search(begin, end, match, slots)) {
    failure_.cause = "mpirun has too few slots for that many ranks";
  }
}

}  // namespace meshwright::calibrate
