// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_place.h"

#include <unistd.h>

#include <array>
#include <charconv>

namespace meshwright::calibrate {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* needs = nullptr;  // a variable without which the others mean nothing
};

constexpr std::array kLaunchers{
    Launcher{"meshwright", kOwnRank, kOwnRanks, kOwnLocalRank},
    Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_RANK"},
    Launcher{"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    Launcher{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
    Launcher{"PMIx", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
    Launcher{kTorchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR"},
};

std::optional<int> number(const Environment& environment, const std::string& key) {
  const auto found = environment.find(key);
  if (found == environment.end()) return std::nullopt;
  const std::string& text = found->second;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Tasks of the Slurm step that we are in. A step has an id; a batch script outside of any step does
// not, and its SLURM_NTASKS says what may be started, not what was.
int slurm_step_tasks(const Environment& environment) {
  if (const auto tasks = number(environment, "SLURM_STEP_NUM_TASKS")) return *tasks;
  if (!environment.contains("SLURM_STEP_ID")) return 1;
  return number(environment, "SLURM_NTASKS").value_or(1);
}

}  // namespace

std::optional<RankPlace> find_rank_place(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = number(environment, launcher.rank);
    if (!rank) continue;
    if (launcher.needs != nullptr && !environment.contains(launcher.needs)) continue;
    const bool is_srun = std::string(launcher.name) == "srun";
    const int size =
        is_srun ? slurm_step_tasks(environment) : number(environment, launcher.size).value_or(0);
    if (is_srun && size <= 1) continue;
    const int local = number(environment, launcher.local_rank)
                          .value_or(number(environment, "SLURM_LOCALID").value_or(*rank));
    return RankPlace{.rank = *rank, .size = size, .local_rank = local, .launcher = launcher.name};
  }
  return std::nullopt;
}

Environment process_environment() {
  Environment result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string::npos) result[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return result;
}

}  // namespace meshwright::calibrate
