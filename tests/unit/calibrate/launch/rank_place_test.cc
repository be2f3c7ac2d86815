// SPDX-License-Identifier: Apache-2.0
// What launchers put into the environment, and the rank that it names. Sources:
//
//   torchrun     pytorch, torch/distributed/elastic/agent/server/local_elastic_agent.py
//   Ray Train    ray, python/ray/train/torch/config.py, _set_torch_distributed_env_vars
//   pmi2         slurm, src/plugins/mpi/pmi2/mpi_pmi2.c, p_mpi_hook_slurmstepd_task
//   pmix         slurm, src/plugins/mpi/pmix (PMIx_server_setup_fork); printed environments of
//   steps SLURM_*      srun(1), "OUTPUT ENVIRONMENT VARIABLES"; sbatch(1), the same section Slurm's
//   ids  slurm.h: SLURM_BATCH_SCRIPT 0xfffffffb, SLURM_INTERACTIVE_STEP 0xfffffffa Open MPI
//   docs.open-mpi.org, "Environment variables set for MPI applications" MPI operator
//   kubeflow/mpi-operator, pkg/controller/mpi_job_controller.go PyTorchJob
//   kubeflow/training-operator, pkg/controller.v1/pytorch/envvar.go TrainJob     kubeflow/trainer,
//   PET_* of its torch plugin (torchrun reads them) Hydra        mpich,
//   src/pm/hydra/proxy/pmip_cb.c, launch_procs; Intel MPI has the same launcher
#include "calibrate/launch/rank_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "tests/unit/error_of.h"

namespace meshwright::calibrate {
namespace {

using ::testing::HasSubstr;
using ::testing::TestWithParam;
using ::testing::Values;

// Later ones win, as with nested launchers.
Environment merged(const std::vector<Environment>& layers) {
  Environment all;
  for (const Environment& layer : layers) {
    for (const auto& [name, value] : layer) all[name] = value;
  }
  return all;
}

// Rank 9 of 16, the second one of the second node of two, 8 GPUs each.
const Environment kTorchrunWorker{{"RANK", "9"},
                                  {"LOCAL_RANK", "1"},
                                  {"GROUP_RANK", "1"},
                                  {"WORLD_SIZE", "16"},
                                  {"LOCAL_WORLD_SIZE", "8"},
                                  {"MASTER_ADDR", "node-0"},
                                  {"MASTER_PORT", "29500"},
                                  {"TORCHELASTIC_RUN_ID", "none"},
                                  {"TORCHELASTIC_RESTART_COUNT", "0"}};
const Environment kRayWorker{{"RANK", "9"},
                             {"LOCAL_RANK", "1"},
                             {"NODE_RANK", "1"},
                             {"WORLD_SIZE", "16"},
                             {"MASTER_PORT", "1"},
                             {"MASTER_ADDR", "10.0.0.1"},
                             {"LOCAL_WORLD_SIZE", "8"}};

Environment job_of_slurm(int nodes) {
  return {{"SLURM_JOB_ID", "7"},
          {"SLURM_JOBID", "7"},
          {"SLURM_JOB_NUM_NODES", std::to_string(nodes)},
          {"SLURM_NNODES", std::to_string(nodes)}};
}

// A task of `srun -N2 --ntasks-per-node=TASKS/2`.
Environment task_of_srun(int task, int tasks, int local) {
  return merged({job_of_slurm(2),
                 {{"SLURM_STEP_ID", "0"},
                  {"SLURM_PROCID", std::to_string(task)},
                  {"SLURM_LOCALID", std::to_string(local)},
                  {"SLURM_NTASKS", std::to_string(tasks)},
                  {"SLURM_STEP_NUM_TASKS", std::to_string(tasks)}}});
}
Environment with_pmix(int task) {
  return {{"PMIX_RANK", std::to_string(task)}, {"PMIX_NAMESPACE", "slurm.pmix.7.0"}};
}
Environment with_pmi2(int task, int tasks) {
  return {{"PMI_RANK", std::to_string(task)},
          {"PMI_SIZE", std::to_string(tasks)},
          {"PMI_FD", "12"},
          {"PMI_JOBID", "7.0"}};
}

const Environment kOpenMpiRank{{"OMPI_COMM_WORLD_RANK", "9"},
                               {"OMPI_COMM_WORLD_SIZE", "16"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"},
                               {"PMIX_RANK", "9"},
                               {"PMIX_NAMESPACE", "1839595521"}};
const Environment kHydraRank{{"PMI_RANK", "9"},
                             {"PMI_SIZE", "16"},
                             {"PMI_FD", "6"},
                             {"MPI_LOCALNRANKS", "8"},
                             {"MPI_LOCALRANKID", "1"}};
// The shell of salloc, and of sbatch's script: 16 tasks may be started, none has been.
const Environment kTasksToStart{{"SLURM_PROCID", "0"},
                                {"SLURM_LOCALID", "0"},
                                {"SLURM_NTASKS", "16"},
                                {"SLURM_TASKS_PER_NODE", "8(x2)"}};
const Environment kPod{
    {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "job-master-0"}, {"MASTER_PORT", "23456"}};

struct Started {
  const char* name;
  Environment environment;
  std::string launcher;
  int rank = 9, size = 16, local_rank = 1;
};
std::ostream& operator<<(std::ostream& out, const Started& s) { return out << s.name; }

class RankOfLauncher : public TestWithParam<Started> {};

TEST_P(RankOfLauncher, IsFound) {
  const auto place = find_rank_place(GetParam().environment);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->launcher, GetParam().launcher);
  EXPECT_EQ(place->rank, GetParam().rank);
  EXPECT_EQ(place->size, GetParam().size);
  EXPECT_EQ(place->local_rank, GetParam().local_rank);
  EXPECT_EQ(place_of_started_rank(GetParam().environment)->rank, GetParam().rank);
}

INSTANTIATE_TEST_SUITE_P(
    Environments, RankOfLauncher,
    Values(Started{"Torchrun", kTorchrunWorker, kTorchrun},
           Started{"TorchrunInSrunWithPmix",
                   merged({task_of_srun(1, 2, 0), with_pmix(1), kTorchrunWorker}), kTorchrun},
           Started{"TorchrunInSrunWithPmi2",
                   merged({task_of_srun(1, 2, 0), with_pmi2(1, 2), kTorchrunWorker}), kTorchrun},
           Started{"TorchrunInSrunWithoutPmi", merged({task_of_srun(1, 2, 0), kTorchrunWorker}),
                   kTorchrun},
           Started{"TorchrunInOneTaskWithPmix",
                   merged({task_of_srun(0, 1, 0), with_pmix(0), kTorchrunWorker}), kTorchrun},
           Started{"TorchrunInMpirun", merged({kOpenMpiRank, kTorchrunWorker}), kTorchrun},
           Started{"TorchrunInPyTorchJob", merged({kPod, kTorchrunWorker}), kTorchrun},
           Started{
               "TorchrunWithOneWorker",
               merged({kTorchrunWorker, {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}}}),
               kTorchrun, 0, 1, 0},
           Started{"RayTrain", kRayWorker, kTorchrun},
           Started{"SrunWithPmix", merged({task_of_srun(9, 16, 1), with_pmix(9)}), "srun"},
           Started{"SrunWithPmi2", merged({task_of_srun(9, 16, 1), with_pmi2(9, 16)}), "srun"},
           Started{"SrunWithoutPmi", task_of_srun(9, 16, 1), "srun"},
           Started{"MpirunByHand", kOpenMpiRank, "Open MPI"},
           Started{"MpirunInShellOfSrunWithPmix",
                   merged({task_of_srun(0, 1, 0), with_pmix(0), kOpenMpiRank}), "Open MPI"},
           Started{"MpirunInShellOfSrunWithPmi2",
                   merged({task_of_srun(0, 1, 0), with_pmi2(0, 1), kOpenMpiRank}), "Open MPI"},
           // orted is a task of srun, one per node, and its ranks keep that task's variables.
           Started{"MpirunInSbatch", merged({task_of_srun(1, 2, 0), kOpenMpiRank}), "Open MPI"},
           Started{"MpirunOfOneRank",
                   {{"OMPI_COMM_WORLD_RANK", "0"},
                    {"OMPI_COMM_WORLD_SIZE", "1"},
                    {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}},
                   "Open MPI",
                   0,
                   1,
                   0},
           Started{"KubernetesMpiOperatorWorker",
                   merged({{{"K_MPI_JOB_ROLE", "worker"}}, kOpenMpiRank}), "Open MPI"},
           Started{"MpichHydra", kHydraRank, "MPICH"},
           Started{"HydraStartedBySrun", merged({task_of_srun(1, 2, 0), kHydraRank}), "MPICH"},
           Started{"IntelMpi", merged({{{"I_MPI_ROOT", "/opt/intel/mpi"}}, kHydraRank}), "MPICH"},
           Started{"HydraOfOneRank",
                   {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"MPI_LOCALRANKID", "0"}},
                   "MPICH",
                   0,
                   1,
                   0},
           // No number among the ranks of the node: Slurm's stands in, else the rank itself.
           Started{"PmiWithSlurmsLocalId",
                   {{"PMI_RANK", "9"}, {"PMI_SIZE", "16"}, {"SLURM_LOCALID", "1"}},
                   "PMI"},
           Started{"PmixThatDoesNotSayHowMany", {{"PMIX_RANK", "9"}}, "PMIx", 9, 0, 9},
           Started{"OursAlone",
                   merged({task_of_srun(3, 8, 3),
                           {{"MESHWRIGHT_RANK", "0"},
                            {"MESHWRIGHT_RANKS", "1"},
                            {"MESHWRIGHT_LOCAL_RANK", "0"}}}),
                   "meshwright", 0, 1, 0}),
    [](const auto& test) { return std::string(test.param.name); });

struct ByHand {
  const char* name;
  Environment environment;
};
std::ostream& operator<<(std::ostream& out, const ByHand& b) { return out << b.name; }

class NoRank : public TestWithParam<ByHand> {};

TEST_P(NoRank, IsFound) {
  const auto place = find_rank_place(GetParam().environment);
  EXPECT_FALSE(place) << place->launcher << " rank " << place->rank << " of " << place->size;
  EXPECT_FALSE(place_of_started_rank(GetParam().environment));
}

INSTANTIATE_TEST_SUITE_P(
    Environments, NoRank,
    Values(ByHand{"ByHand", {{"PATH", "/usr/bin"}}},
           ByHand{"EmptyVariable", {{"OMPI_COMM_WORLD_RANK", ""}}},
           // srun -n1 --gpus=8 --pty bash: the shell has all GPUs and no rank.
           ByHand{"ShellOfSrunWithPmix", merged({task_of_srun(0, 1, 0), with_pmix(0)})},
           ByHand{"ShellOfSrunWithPmi2", merged({task_of_srun(0, 1, 0), with_pmi2(0, 1)})},
           ByHand{"ShellOfSrunWithoutPmi", task_of_srun(0, 1, 0)},
           ByHand{"SbatchWithoutSrun", merged({job_of_slurm(2), kTasksToStart})},
           ByHand{"SbatchWithItsOwnStep",
                  merged({job_of_slurm(2), kTasksToStart, {{"SLURM_STEP_ID", "4294967291"}}})},
           ByHand{"ShellOfSalloc",
                  merged({job_of_slurm(2),
                          kTasksToStart,
                          {{"SLURM_STEP_ID", "4294967290"}, {"SLURM_STEP_NUM_TASKS", "16"}}})},
           ByHand{"KubernetesMpiOperatorLauncher",
                  {{"K_MPI_JOB_ROLE", "launcher"},
                   {"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"}}},
           ByHand{"PyTorchJobOfOnePod",
                  {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "job-master-0"}}},
           // Anybody's variables.
           ByHand{"RankWithoutAnAddress",
                  {{"RANK", "9"}, {"WORLD_SIZE", "16"}, {"LOCAL_RANK", "1"}}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(RankPlace, APodWhoseRanksTorchrunHasToStartIsAnError) {
  for (const Environment& pod : {kPod, Environment{{"PET_NNODES", "2"}, {"PET_NODE_RANK", "1"}}}) {
    EXPECT_FALSE(find_rank_place(pod));  // other commands run there
    const std::string error = error_and_hint_of([&] { (void)place_of_started_rank(pod); });
    EXPECT_THAT(error, HasSubstr("a job of 2 pods"));
    EXPECT_THAT(error, HasSubstr("LOCAL_RANK is not set"));
    EXPECT_THAT(error, HasSubstr("start torchrun in every pod"));
  }
}

TEST(RankPlace, TorchrunAloneNeedsNoMpi) {
  EXPECT_EQ(find_rank_place(kTorchrunWorker)->starter(), Starter::torchrun);
  EXPECT_EQ(find_rank_place(kOpenMpiRank)->starter(), Starter::mpi);
}

TEST(RankPlace, AnOlderSrunCountsItsTasksInSlurmNtasksAlone) {
  EXPECT_TRUE(
      find_rank_place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "0"}}));
}

TEST(RankPlace, NodesOfAnAllocation) {
  EXPECT_FALSE(is_under_slurm({{"PATH", "/usr/bin"}}));
  EXPECT_TRUE(is_under_slurm(job_of_slurm(1)));
  EXPECT_EQ(num_slurm_nodes(job_of_slurm(2)), 2);
  EXPECT_EQ(num_slurm_nodes({{"SLURM_JOB_NUM_NODES", "4"}}), 4);
  EXPECT_EQ(num_slurm_nodes({}), 1);
}

}  // namespace
}  // namespace meshwright::calibrate
