// SPDX-License-Identifier: Apache-2.0
// Starts this program again as the ranks of one job, under mpirun, and says how that ended.
//
// No shell is involved. stdout and stderr of the ranks are passed through. When a rank dies, or
// makes no progress (calibrate/launch/rank_watch.h), the others are ended too, within
// kGraceSeconds; an interrupt ends them all. On this machine alone, what Open MPI keeps on disk and
// in shared memory lies in folders that are removed; with ranks on other hosts, Open MPI's own
// tidying has to do.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/launch/rank_place.h"

namespace meshwright::calibrate {

inline constexpr double kGraceSeconds = 8.0;  // from the first sign of a dead rank to SIGKILL

struct LaunchOptions {
  std::vector<std::string> mpirun_arguments{};  // added after ours: hosts, mca parameters
  std::vector<std::pair<std::string, std::string>> environment{};  // added for the ranks
  std::vector<std::string> forwarded{};  // variables of this process that the ranks get
  double time_limit_seconds = 0.0;       // 0: none
  double rank_timeout_seconds = 30.0;    // without progress of a rank; ranks have to report
  bool place_ranks = true;  // false: nothing is said about cores; mpirun's own settings decide
  // Each rank has a core to itself. A rank with a GPU needs more: NCCL's proxy threads run beside
  // its main thread.
  bool core_a_rank = true;
  int places = 0;  // ranks that this host has a GPU or a core for; 0: its cores
  // Every rank runs on this host. Then a rank with a GPU needs no slot of Open MPI's, which counts
  // the cores that it sees, or Slurm's tasks: one, in a shell of `srun --pty`.
  bool one_host = false;  // launch_ranks finds out
};

struct LaunchOutcome {
  int exit_code = 0;  // mpirun's: the first failing rank's, 128 + signal where a signal ended it
  int rank = -1;      // the rank that ended the job; -1: none, or unknown
  std::string host;
  std::string cause;  // one sentence; empty when every rank ended well
  int signal = 0;     // that interrupted us; 0: none
  [[nodiscard]] bool ok() const { return exit_code == 0 && cause.empty(); }
};

// Physical cores that this process may use, each by the list of its hyper-threads ("0,64").
std::set<std::string> names_of_usable_cores();

// Number of those cores; at least 1.
int usable_cores();

// Open MPI's own variables already say which hosts or cores ranks get (a default hostfile, a
// binding policy), so that launch_ranks says nothing about it and this machine's cores are no
// limit.
bool environment_places_ranks();

// Neither the environment nor these arguments name hosts.
bool stays_on_this_machine(const std::vector<std::string>& mpirun_arguments);

// Tells whether all of `ranks` run on this host: no others are named, and Slurm has lent no others
// or `places` here are enough.
bool runs_on_one_host(int ranks, int places, const std::vector<std::string>& mpirun_arguments,
                      const Environment& environment);

// Settings by which Open MPI 4 and 5 take neither hosts nor slots from Slurm (their components
// ras/slurm and plm/slurm). Empty outside of Slurm; a user's own settings stay.
std::vector<std::pair<std::string, std::string>> slurm_ignored(const Environment& environment);

// Variables that the ranks must have on other hosts, too: mpirun hands on what it is told to.
std::vector<std::string> forwarded_variables(const Environment& environment);

// Tells whether launch_ranks started this process.
bool started_by_us(const Environment& environment);

// The whole command line, and what is special in the environment. Pure, for tests.
std::vector<std::string> mpirun_command(const std::string& mpirun, int ranks, int cores,
                                        const std::vector<std::string>& program,
                                        const LaunchOptions& options);

// Runs `program` (path and arguments) as `ranks` ranks and waits. Throws SystemError when mpirun is
// not on PATH or cannot be started.
LaunchOutcome launch_ranks(int ranks, const std::vector<std::string>& program,
                           const LaunchOptions& options = {});

// The running program's own path and these arguments, for launch_ranks.
std::vector<std::string> this_program(const std::vector<std::string>& arguments);

}  // namespace meshwright::calibrate
