// SPDX-License-Identifier: Apache-2.0
// Names the program that uses the cores beside the ranks while they are timed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/backends/host_ranks.h"
#include "sim/step/observation.h"

namespace meshwright::calibrate {

// A process and the time that it has used since it began.
struct ProcessTime {
  int pid = 0;
  std::string name;
  double seconds = 0.0;  // of all its threads, user and system
  int core = -1;         // last run on; -1: several threads
  double began = 0.0;    // clock ticks after the host; a number and this name one process
  bool operator==(const ProcessTime&) const = default;
};

// Reads a line of /proc/PID/stat (proc_pid_stat(5): utime 14, stime 15, num_threads 20, starttime
// 22, processor 39, in clock ticks). Nothing if it is none.
std::optional<ProcessTime> process_time(const std::string& stat, double ticks_per_second);

// Processes of this host. Empty where there is no /proc.
std::vector<ProcessTime> processes_now();

// The program that used most core time in `elapsed` seconds, all processes of one name together,
// without the processes `own`. Nothing below a tenth of a core.
std::optional<OtherProgram> busiest_other(const std::vector<ProcessTime>& before,
                                          const std::vector<ProcessTime>& after, double elapsed,
                                          const std::vector<int>& own);

// Looks at rank 0's host from its construction on.
class OtherPrograms {
 public:
  explicit OtherPrograms(HostRanks& ranks);  // collective
  // What was busiest since the last call; nothing on other ranks than 0.
  std::optional<OtherProgram> since_last();

 private:
  bool looks_;
  std::vector<int> own_;  // process numbers of all ranks, and of rank 0's launcher
  std::vector<ProcessTime> before_;
  double last_ = 0.0;
};

}  // namespace meshwright::calibrate
