// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include "calibrate/launch/child_process.h"

namespace meshwright::calibrate {
namespace {

using ::testing::ElementsAre;

TEST(Launch, AsManyRanksAsCoresAreBoundToCores) {
  EXPECT_THAT(mpirun_command("/bin/mpirun", 2, 2, {"prog", "calibrate"}, {}),
              ElementsAre("/bin/mpirun", "-np", "2", "--bind-to", "core", "-x", "OMP_NUM_THREADS",
                          "prog", "calibrate"));
}

TEST(Launch, MoreRanksThanCoresAreOversubscribedAndUnbound) {
  EXPECT_THAT(mpirun_command("mpirun", 3, 2, {"prog"}, {}),
              ElementsAre("mpirun", "-np", "3", "--oversubscribe", "--bind-to", "none", "-x",
                          "OMP_NUM_THREADS", "prog"));
}

TEST(Launch, TheUsersArgumentsComeLastBeforeTheProgram) {
  const LaunchOptions options{.mpirun_arguments = {"--host", "a:1,b:1"},
                              .environment = {{"X", "1"}}};
  EXPECT_THAT(mpirun_command("mpirun", 1, 1, {"prog"}, options),
              ElementsAre("mpirun", "-np", "1", "--bind-to", "core", "-x", "OMP_NUM_THREADS", "-x",
                          "X", "--host", "a:1,b:1", "prog"));
}

// NCCL's proxy threads would wait for the main thread on one core.
TEST(Launch, RanksWithAGpuAreNotBoundToACore) {
  EXPECT_THAT(
      mpirun_command("mpirun", 16, 8, {"prog"}, {.core_a_rank = false}),
      ElementsAre("mpirun", "-np", "16", "--bind-to", "none", "-x", "OMP_NUM_THREADS", "prog"));
}

// A GPU is the place of a rank. Open MPI counts cores, or Slurm's tasks, and would refuse.
TEST(Launch, RanksWithAGpuOnOneHostNeedNoSlots) {
  EXPECT_THAT(mpirun_command("mpirun", 8, 1, {"prog"}, {.core_a_rank = false, .one_host = true}),
              ElementsAre("mpirun", "-np", "8", "--oversubscribe", "--bind-to", "none", "-x",
                          "OMP_NUM_THREADS", "prog"));
}

TEST(Launch, RanksRunOnThisHostUnlessOthersAreNamedOrLentAndNeeded) {
  const Environment one{{"SLURM_JOB_ID", "7"}, {"SLURM_NNODES", "1"}};
  const Environment two{{"SLURM_JOB_ID", "7"}, {"SLURM_NNODES", "2"}};
  EXPECT_TRUE(runs_on_one_host(16, 8, {}, {}));
  EXPECT_TRUE(runs_on_one_host(16, 8, {}, one));
  EXPECT_TRUE(runs_on_one_host(8, 8, {}, two));  // "measuring 8 of 8 GPUs of this host"
  EXPECT_FALSE(runs_on_one_host(16, 8, {}, two));
  EXPECT_FALSE(runs_on_one_host(2, 8, {"--host", "a:1,b:1"}, {}));
}

TEST(Launch, OpenMpiIsToldNotToAskSlurm) {
  using testing::Pair;
  EXPECT_THAT(slurm_ignored({{"PATH", "/usr/bin"}}), testing::IsEmpty());
  EXPECT_THAT(slurm_ignored({{"SLURM_JOBID", "7"}, {"OMPI_MCA_plm", "rsh"}}),
              ElementsAre(Pair("OMPI_MCA_ras", "^slurm"), Pair("PRTE_MCA_ras", "^slurm"),
                          Pair("PRTE_MCA_plm", "^slurm")));
}

TEST(Launch, NetworkSettingsAndLibrariesReachOtherHosts) {
  const std::vector<std::string> names = forwarded_variables({{"NCCL_IB_HCA", "mlx5"},
                                                              {"LD_LIBRARY_PATH", "/opt/lib"},
                                                              {"MESHWRIGHT_MODULE_PATH", "/opt"},
                                                              {"SECRET", "x"}});
  EXPECT_THAT(names, ElementsAre("LD_LIBRARY_PATH", "MESHWRIGHT_MODULE_PATH", "NCCL_IB_HCA"));
  EXPECT_THAT(mpirun_command("mpirun", 1, 1, {"prog"}, {.forwarded = names}),
              testing::IsSupersetOf({"LD_LIBRARY_PATH", "NCCL_IB_HCA"}));
}

// A default hostfile or a binding policy in the environment: this machine's cores say nothing.
TEST(Launch, WhereTheEnvironmentPlacesRanksNothingIsSaidAboutCores) {
  EXPECT_THAT(mpirun_command("mpirun", 3, 2, {"prog"}, {.place_ranks = false}),
              ElementsAre("mpirun", "-np", "3", "-x", "OMP_NUM_THREADS", "prog"));
  ASSERT_FALSE(environment_places_ranks());
  setenv("OMPI_MCA_orte_default_hostfile", "hosts", 1);
  EXPECT_TRUE(environment_places_ranks());
  unsetenv("OMPI_MCA_orte_default_hostfile");
}

TEST(Launch, ThisProcessHasAtLeastOneCore) { EXPECT_GE(usable_cores(), 1); }

TEST(ChildProcess, ExitCodeAndEachLineOfStderrArrive) {
  std::vector<std::string> lines;
  const ChildEnd end = run_child(
      {.command = {"/bin/sh", "-c", "echo one >&2; printf 'two\\nthr' >&2; echo ee >&2; exit 5"},
       .environment = {{"ADDED", "1"}}},
      {.stderr_line = [&](std::string_view line) {
        lines.emplace_back(line);
        return LineUse::pass_on;
      }});
  EXPECT_EQ(WEXITSTATUS(end.wait_status), 5);
  EXPECT_THAT(lines, ElementsAre("one", "two", "three"));
}

TEST(ChildProcess, ALineThatIsKeptIsNotShownAndAChildIsToldToEnd) {
  testing::internal::CaptureStderr();
  const ChildEnd end =
      run_child({.command = {"/bin/sh", "-c", "echo secret >&2; echo news >&2; exec sleep 60"},
                 .environment = {}},
                {.stderr_line =
                     [](std::string_view line) {
                       return line == "secret" ? LineUse::keep : LineUse::pass_on;
                     },
                 .must_end = [] { return true; }});
  EXPECT_EQ(WTERMSIG(end.wait_status), SIGTERM);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::Not(testing::HasSubstr("secret")));
}

TEST(ChildProcess, TheEnvironmentIsAddedAndStdinIsEmpty) {
  std::vector<std::string> lines;
  run_child(
      {.command = {"/bin/sh", "-c", "cat; echo $ADDED >&2"}, .environment = {{"ADDED", "yes"}}},
      {.stderr_line = [&](std::string_view line) {
        lines.emplace_back(line);
        return LineUse::pass_on;
      }});
  EXPECT_THAT(lines, ElementsAre("yes"));
}

// The child sends us a hang-up, as a terminal does that is closed.
ChildEnd hung_up() {
  return run_child(
      {.command = {"/bin/sh", "-c", "kill -HUP $PPID; sleep 0.5; exit 7"}, .environment = {}},
      {.stderr_line = [](std::string_view) { return LineUse::pass_on; }});
}

TEST(ChildProcess, AHangUpEndsTheChildUnlessItIsIgnored) {
  const auto before = std::signal(SIGHUP, SIG_DFL);  // the tests may run under nohup
  EXPECT_EQ(hung_up().signal, SIGHUP);
  std::signal(SIGHUP, SIG_IGN);
  const ChildEnd end = hung_up();
  std::signal(SIGHUP, before);
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(WEXITSTATUS(end.wait_status), 7);
}

TEST(ChildProcess, AfterItsFirstFailureAChildHasTheGraceAndNoMore) {
  const ChildEnd end = run_child({.command = {"/bin/sh", "-c", "echo failed >&2; exec sleep 60"},
                                  .environment = {},
                                  .grace_seconds = 0.2},
                                 {.stderr_line = [](std::string_view line) {
                                   return line == "failed" ? LineUse::failure : LineUse::pass_on;
                                 }});
  EXPECT_TRUE(WIFSIGNALED(end.wait_status));
  EXPECT_EQ(WTERMSIG(end.wait_status), SIGKILL);
}

}  // namespace
}  // namespace meshwright::calibrate
