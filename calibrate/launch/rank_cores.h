// SPDX-License-Identifier: Apache-2.0
// Do the ranks with GPUs have enough cores? NCCL runs a proxy thread per rank and network beside
// the main thread, which launches kernels, and the watching threads of NCCL and of this program.
// srun lends a task one CPU unless --cpus-per-task asks for more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/backends/communicator.h"

namespace meshwright::calibrate {

inline constexpr int kCoresPerGpuRank = 4;  // fewer: transfers and small kernels wait for the host

// Physical cores that one rank may use.
struct RankCores {
  std::string host;
  int cores = 0;
  double set = 0.0;  // the same number for the same set of cores
};

struct HostCores {
  std::string host;
  int cores = 0;  // that its ranks may use
  int ranks = 0;
};

// Adds up sets of cores that differ, and counts one that ranks share (no binding) once. Hosts are
// in the order of their first rank.
std::vector<HostCores> cores_of_hosts(const std::vector<RankCores>& ranks);

// One sentence on the host with the fewest cores per GPU rank; empty: every host has enough, or
// there is one rank, which sends nothing.
std::string few_cores_words(const std::vector<HostCores>& hosts);

// What every rank may use, by rank. Collective.
std::vector<RankCores> cores_of_ranks(Communicator& world);

}  // namespace meshwright::calibrate
