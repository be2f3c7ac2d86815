// SPDX-License-Identifier: Apache-2.0
// What the commands that start ranks share: their options, and how a job of ranks ended.
#pragma once

#include <string>
#include <vector>

#include "calibrate/launch/launch.h"

namespace CLI {
class App;
}

namespace meshwright::app {

struct RankOptions {
  int ranks = 0;        // 0: the command's own default
  std::string backend;  // empty: chosen by choose_backend()
  std::string mpirun_args;
  std::string timeout = "30s";  // without progress of a rank
  bool oversubscribe = false;
};
void add_rank_options(CLI::App& command, RankOptions& options, const std::string& default_ranks);

// "90", "90s" or "2m", from a second to a day. `option` is named in the message.
double parse_duration(const std::string& option, const std::string& text);

// Chooses where no --backend was given: the GPUs, where `gpus_wanted` and there are any, else the
// cores. Throws SystemError where GPUs are present and cannot be used.
void choose_backend(RankOptions& options, bool gpus_wanted);
// Devices of the backend on this host; a rank each. Cores count where it has no devices.
int devices_here(const RankOptions& options);
// This program with these arguments, for ranks: on the backend that was chosen.
std::vector<std::string> rank_program(const RankOptions& options,
                                      std::vector<std::string> arguments);

// Throws InputError for an unknown backend, SystemError for one that cannot be used here.
void check_backend(const std::string& backend);
// More ranks than this on a core wait for each other so long that a job seems to hang.
inline constexpr int kMostRanksPerCore = 8;
// Throws InputError past it, unless told to go on.
void check_crowding(const RankOptions& options, int ranks, int cores);

// Throws InputError when they are too many.
calibrate::LaunchOutcome start_ranks(const RankOptions& options, int ranks,
                                     const std::vector<std::string>& program, double time_limit);
// Handles a job that did not end well. Returns 128 + signal if the user interrupted it, else throws
// SystemError. `job`: "calibration"; `kept`: a sentence on the results that are kept.
int failed_job(const calibrate::LaunchOutcome& outcome, const std::string& job,
               const std::string& kept);

}  // namespace meshwright::app
