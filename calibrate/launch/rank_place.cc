// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

constexpr char kSrun[] = "srun";

std::optional<std::int64_t> whole_number(const Environment& environment, const std::string& key) {
  const auto found = environment.find(key);
  if (found == environment.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<int> number(const Environment& environment, const std::string& key) {
  const auto value = whole_number(environment, key);
  if (!value || *value > INT32_MAX) return std::nullopt;
  return static_cast<int>(*value);
}

bool always(const Environment& /*environment*/) { return true; }

// A worker of torchrun, of Ray Train, or of a script that sets the same variables.
bool is_torchrun_worker(const Environment& e) {
  return e.contains("TORCHELASTIC_RUN_ID") ||
         (e.contains("LOCAL_RANK") && e.contains("WORLD_SIZE") && e.contains("MASTER_ADDR"));
}

// Hydra, the launcher of MPICH and Intel MPI, numbers the ranks of a node; Slurm's PMI does not.
bool is_hydra_rank(const Environment& e) { return e.contains("MPI_LOCALRANKID"); }

// Tasks of the Slurm step that we are in. A step has an id; a batch script outside of any step does
// not, and its SLURM_NTASKS says what may be started, not what was. Ids from 0xfffffffa on are
// Slurm's own steps (slurm.h): batch scripts, and the shell of salloc.
int slurm_step_tasks(const Environment& environment) {
  constexpr std::int64_t kInteractiveStep = 0xfffffffa;
  const auto step = whole_number(environment, "SLURM_STEP_ID");
  if (step.value_or(0) >= kInteractiveStep) return 1;
  if (const auto tasks = number(environment, "SLURM_STEP_NUM_TASKS")) return *tasks;
  if (!step) return 1;
  return number(environment, "SLURM_NTASKS").value_or(1);
}

int slurm_tasks_or_unknown(const Environment& environment) {
  return is_under_slurm(environment) ? slurm_step_tasks(environment) : 0;
}

struct Launcher {
  const char* name;
  const char* rank;
  const char* local_rank;
  const char* size;  // null: the tasks of the Slurm step
  bool (*applies)(const Environment&) = always;
  // One process is a rank only where somebody asked for one by name: `mpirun -np 1`.
  bool one_is_a_rank = true;
};

constexpr std::array kLaunchers{
    Launcher{"meshwright", kOwnRank, kOwnLocalRank, kOwnRanks},
    Launcher{kTorchrun, "RANK", "LOCAL_RANK", "WORLD_SIZE", is_torchrun_worker},
    Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
             "OMPI_COMM_WORLD_SIZE"},
    Launcher{"MPICH", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", is_hydra_rank},
    Launcher{"PMI", "PMI_RANK", "SLURM_LOCALID", "PMI_SIZE", always, false},
    Launcher{kSrun, "SLURM_PROCID", "SLURM_LOCALID", nullptr, always, false},
    Launcher{"PMIx", "PMIX_RANK", "SLURM_LOCALID", nullptr, always, false},
};

int size_of(const Launcher& launcher, const Environment& environment) {
  if (launcher.size == nullptr) return slurm_tasks_or_unknown(environment);
  return number(environment, launcher.size).value_or(0);
}

// srun --mpi=pmi2 is the one that the user typed.
bool is_task_of_srun(const Environment& environment, int rank, int size) {
  return number(environment, "SLURM_PROCID") == rank && slurm_step_tasks(environment) == size;
}

std::optional<RankPlace> place_by(const Launcher& launcher, const Environment& environment) {
  const auto rank = number(environment, launcher.rank);
  if (!rank || !launcher.applies(environment)) return std::nullopt;
  const int size = size_of(launcher, environment);
  if (size == 1 && !launcher.one_is_a_rank) return std::nullopt;
  const int local = number(environment, launcher.local_rank)
                        .value_or(number(environment, "SLURM_LOCALID").value_or(*rank));
  const bool srun = !launcher.one_is_a_rank && is_task_of_srun(environment, *rank, size);
  return RankPlace{
      .rank = *rank, .size = size, .local_rank = local, .launcher = srun ? kSrun : launcher.name};
}

// A job of several pods that this process is in.
struct PodJob {
  const char* variable = "";  // that says so
  int num_pods = 1;
};

// A PyTorchJob sets RANK and WORLD_SIZE for each pod, and a TrainJob what torchrun reads.
PodJob pod_job(const Environment& environment) {
  const bool has_rank = environment.contains("RANK") && environment.contains("MASTER_ADDR");
  const auto replicas = number(environment, "WORLD_SIZE");
  if (has_rank && replicas.value_or(1) > 1) return {"RANK and WORLD_SIZE", *replicas};
  return {"PET_NNODES", number(environment, "PET_NNODES").value_or(1)};
}

}  // namespace

std::optional<RankPlace> find_rank_place(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    if (auto place = place_by(launcher, environment)) return place;
  }
  return std::nullopt;
}

std::optional<RankPlace> place_of_started_rank(const Environment& environment) {
  auto place = find_rank_place(environment);
  const PodJob job = pod_job(environment);
  if (place || job.num_pods <= 1) return place;
  throw InputError(
      fmt::format("the environment names a job of {} pods ({}), and LOCAL_RANK is not set: no "
                  "launcher has started ranks in this pod",
                  job.num_pods, job.variable),
      "start torchrun in every pod: torchrun --no-python --nnodes PODS --node-rank $RANK "
      "--nproc-per-node gpu --master-addr $MASTER_ADDR --master-port $MASTER_PORT meshwright ...; "
      "env -u RANK -u PET_NNODES meshwright ... measures this pod alone");
}

bool is_under_slurm(const Environment& environment) {
  return environment.contains("SLURM_JOB_ID") || environment.contains("SLURM_JOBID") ||
         environment.contains("SLURM_PROCID");
}

int num_slurm_nodes(const Environment& environment) {
  const auto nodes = number(environment, "SLURM_NNODES");
  return std::max(1, nodes.value_or(number(environment, "SLURM_JOB_NUM_NODES").value_or(1)));
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
