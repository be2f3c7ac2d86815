// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/other_programs.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include "calibrate/measure/measurement.h"

namespace meshwright::calibrate {
namespace {

constexpr double kWorthNaming = 0.1;  // of a core
// Fields of proc_pid_stat(5) after the name, of which the first is the third.
constexpr std::size_t kUserTime = 14 - 3, kSystemTime = 15 - 3, kThreads = 20 - 3,
                      kStartTime = 22 - 3, kProcessor = 39 - 3;

// A kernel worker changes its name with its work, and a program at exec(): neither is a new
// process.
double time_before(const std::vector<ProcessTime>& before, const ProcessTime& now) {
  const auto same = [&](const ProcessTime& p) { return p.pid == now.pid && p.began == now.began; };
  const auto found = std::find_if(before.begin(), before.end(), same);
  return found == before.end() ? 0.0 : found->seconds;
}

}  // namespace

// The name may hold spaces and brackets; the last bracket ends it.
std::optional<ProcessTime> process_time(const std::string& stat, double ticks_per_second) {
  const auto open = stat.find(" (");
  const auto close = stat.rfind(") ");
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  ProcessTime process;
  std::istringstream number(stat.substr(0, open));
  if (!(number >> process.pid)) return std::nullopt;
  process.name = stat.substr(open + 2, close - open - 2);
  std::istringstream rest(stat.substr(close + 2));
  std::string state;
  std::vector<double> fields{0.0};  // the state's place
  rest >> state;
  for (double field = 0.0; rest >> field;) fields.push_back(field);
  if (fields.size() <= kProcessor) return std::nullopt;
  process.began = fields[kStartTime];
  process.seconds = (fields[kUserTime] + fields[kSystemTime]) / ticks_per_second;
  if (fields[kThreads] == 1.0) process.core = static_cast<int>(fields[kProcessor]);
  return process;
}

std::vector<ProcessTime> processes_now() {
  std::vector<ProcessTime> processes;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  std::error_code failed;
  std::filesystem::directory_iterator entry("/proc", failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry->path() / "stat");  // a process may end meanwhile
    std::string line;
    if (!std::getline(file, line)) continue;
    if (const auto process = process_time(line, ticks)) processes.push_back(*process);
  }
  return processes;
}

std::optional<OtherProgram> busiest_other(const std::vector<ProcessTime>& before,
                                          const std::vector<ProcessTime>& after, double elapsed,
                                          const std::vector<int>& own) {
  std::map<std::string, OtherProgram> programs;
  for (const ProcessTime& process : after) {
    const double used = process.seconds - time_before(before, process);
    if (used <= 0.0 || std::find(own.begin(), own.end(), process.pid) != own.end()) continue;
    const auto [place, is_new] =
        programs.try_emplace(process.name, OtherProgram{process.name, 0.0, process.core});
    place->second.cores += used / elapsed;
    if (!is_new && place->second.core != process.core) place->second.core = -1;
  }
  const auto busiest = std::max_element(
      programs.begin(), programs.end(),
      [](const auto& a, const auto& b) { return a.second.cores < b.second.cores; });
  if (busiest == programs.end() || busiest->second.cores < kWorthNaming) return std::nullopt;
  return busiest->second;
}

OtherPrograms::OtherPrograms(HostRanks& ranks)
    : looks_(ranks.rank() == 0), own_(static_cast<std::size_t>(ranks.size())) {
  const int mine = static_cast<int>(getpid());
  ranks.host_gather(&mine, own_.data(), sizeof mine);
  if (!looks_) return;
  own_.push_back(static_cast<int>(getppid()));
  before_ = processes_now();
  last_ = steady_clock_seconds();
}

std::optional<OtherProgram> OtherPrograms::since_last() {
  if (!looks_) return std::nullopt;
  std::vector<ProcessTime> after = processes_now();
  const double now = steady_clock_seconds();
  const auto busiest = busiest_other(before_, after, now - last_, own_);
  before_ = std::move(after);
  last_ = now;
  return busiest;
}

}  // namespace meshwright::calibrate
