// SPDX-License-Identifier: Apache-2.0
// Are we one rank of a job that a launcher started, and which one?
//
// Launchers say so in the environment: torchrun RANK beside TORCHELASTIC_RUN_ID or LOCAL_RANK, Open
// MPI OMPI_COMM_WORLD_*, MPICH and Intel MPI PMI_* beside MPI_LOCALRANKID, Slurm's srun SLURM_*
// with PMI_* (--mpi=pmi2) or PMIX_RANK (--mpi=pmix). Launchers nest: the innermost one is asked
// first. torchrun is always the innermost, because its workers keep the variables of the srun or
// mpirun that started it.
//
// A job of one process under srun or another PMI is no rank: a shell from `srun --pty` has the same
// variables. tests/unit/calibrate/launch/rank_place_test.cc has the environments and their sources.
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

// find_rank_place() for a command that runs on ranks. Throws InputError where the environment names
// a job of several pods and no launcher has started ranks in this one (a PyTorchJob).
std::optional<RankPlace> place_of_started_rank(const Environment& environment);

// Tells whether this process is inside an allocation of Slurm.
bool is_under_slurm(const Environment& environment);

// Nodes of that allocation; at least 1.
int num_slurm_nodes(const Environment& environment);

Environment process_environment();

}  // namespace meshwright::calibrate
