// SPDX-License-Identifier: Apache-2.0
// Are we one rank of a job that mpirun or srun started, and which one?
//
// Launchers say so in the environment: Open MPI OMPI_COMM_WORLD_*, MPICH and Intel MPI PMI_*,
// PMIx-based launchers PMIX_RANK, Slurm's srun SLURM_PROCID, torchrun RANK with MASTER_ADDR. A
// Slurm batch script has SLURM_PROCID too; only a job step of more than one task makes us a rank.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "calibrate/backends/backend.h"

namespace meshwright::calibrate {

// Its ranks have no MPI: they meet over sockets (backends/nccl/socket_ranks.h).
inline constexpr char kTorchrun[] = "torchrun";

// A rank that we start alone, without a launcher.
inline constexpr char kOwnRank[] = "MESHWRIGHT_RANK", kOwnRanks[] = "MESHWRIGHT_RANKS",
                      kOwnLocalRank[] = "MESHWRIGHT_LOCAL_RANK";

using Environment = std::map<std::string, std::string>;

struct RankPlace {
  int rank = 0;
  int size = 0;        // 0: the launcher does not say
  int local_rank = 0;  // among the ranks of this node: which device is ours
  std::string launcher;
  [[nodiscard]] Starter starter() const {
    return launcher == kTorchrun ? Starter::torchrun : Starter::mpi;
  }
};

// Empty when this process was started by hand.
std::optional<RankPlace> find_rank_place(const Environment& environment);

Environment process_environment();

}  // namespace meshwright::calibrate
