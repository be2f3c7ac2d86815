// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/launch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

using testing::HasSubstr;

struct Ended {
  LaunchOutcome outcome;
  double seconds = 0.0;
};

Ended run_probe(int ranks, const std::string& what, const LaunchOptions& options = {}) {
  const auto start = std::chrono::steady_clock::now();
  Ended ended;
  ended.outcome = launch_ranks(ranks, {MESHWRIGHT_RANK_PROBE, what}, options);
  ended.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return ended;
}

std::string host_name() {
  std::string name(256, '\0');
  gethostname(name.data(), name.size());
  return name.c_str();
}

TEST(Ranks, TwoRanksGetTheRightResultFromEveryCollective) {
  const auto [outcome, seconds] = run_probe(2, "collectives");
  EXPECT_TRUE(outcome.ok()) << outcome.cause;
  EXPECT_EQ(outcome.exit_code, 0);
}

TEST(Ranks, FourRanksGetTheRightResultFromEveryCollective) {
  EXPECT_TRUE(run_probe(4, "collectives").outcome.ok());
}

// A variable of the environment while this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

// What a shell of `srun -N2 -n2 --pty` has: Slurm lends one slot here and one on a host that does
// not exist. Open MPI would refuse four ranks, or ask srun for a daemon there.
TEST(Ranks, ATaskOfSlurmLimitsNoRanksOnThisHost) {
  const Variable job("SLURM_JOBID", "7"), id("SLURM_JOB_ID", "7"), nodes("SLURM_NNODES", "2");
  const Variable hosts("SLURM_NODELIST", host_name() + ",meshwright-no-host");
  const Variable all("SLURM_JOB_NODELIST", host_name() + ",meshwright-no-host");
  const Variable tasks("SLURM_TASKS_PER_NODE", "1(x2)"), rank("SLURM_PROCID", "0");
  const auto [outcome, seconds] = run_probe(4, "collectives", {.core_a_rank = false, .places = 4});
  EXPECT_TRUE(outcome.ok()) << outcome.cause;
}

TEST(Ranks, AFailedMpiCallIsASystemErrorWithMpisText) {
  EXPECT_TRUE(run_probe(2, "error").outcome.ok());
}

// Seconds from the start, on a busy machine. Unnoticed, a job ends after 30 without progress.
constexpr double kNoticed = 25.0;

TEST(Ranks, AKilledRankEndsTheJobAndIsNamedWithHostAndCause) {
  const auto [outcome, seconds] = run_probe(2, "kill");
  EXPECT_LT(seconds, kNoticed);
  EXPECT_EQ(outcome.rank, 1);
  EXPECT_EQ(outcome.host, host_name());
  EXPECT_EQ(outcome.cause, "was killed by signal 9 (Killed)");
  EXPECT_EQ(outcome.exit_code, 137);
}

TEST(Ranks, ARankThatLeavesWithACodeEndsTheJob) {
  const auto [outcome, seconds] = run_probe(2, "exit");
  EXPECT_LT(seconds, kNoticed);
  EXPECT_EQ(outcome.rank, 1);
  EXPECT_EQ(outcome.cause, "ended with exit code 7");
  EXPECT_EQ(outcome.exit_code, 7);
}

TEST(Ranks, ARankThatAbortsSaysWhyItself) {
  const auto [outcome, seconds] = run_probe(2, "abort");
  EXPECT_LT(seconds, kNoticed);
  EXPECT_EQ(outcome.rank, 1);
  EXPECT_EQ(outcome.host, host_name());
  EXPECT_EQ(outcome.cause, "the device is on fire");
  EXPECT_EQ(outcome.exit_code, 3);
}

TEST(Ranks, AJobThatHangsEndsAtItsTimeLimit) {
  const auto [outcome, seconds] = run_probe(2, "hang", {.time_limit_seconds = 2.0});
  EXPECT_LT(seconds, kNoticed);
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.cause, "the ranks did not end within the time limit");
}

// Two seconds without progress, and what mpirun needs to end a rank that does not answer.
TEST(Ranks, AStoppedRankIsNamedAndEndsTheJobAfterTheTimeout) {
  const auto [outcome, seconds] = run_probe(2, "stop", {.rank_timeout_seconds = 2.0});
  EXPECT_LT(seconds, kNoticed);
  EXPECT_EQ(outcome.rank, 1);
  EXPECT_EQ(outcome.host, host_name());
  EXPECT_THAT(outcome.cause, HasSubstr("its process is stopped"));
  EXPECT_THAT(outcome.cause, HasSubstr("rank 0 waits in all_reduce of 1 KiB"));
  EXPECT_FALSE(outcome.ok());
}

TEST(Ranks, ARankThatHangsIsNamedThoughTheOthersWaitAsLong) {
  const auto [outcome, seconds] = run_probe(2, "loop", {.rank_timeout_seconds = 2.0});
  EXPECT_LT(seconds, kNoticed);
  EXPECT_EQ(outcome.rank, 1);
  EXPECT_THAT(outcome.cause, HasSubstr("no progress for"));
  EXPECT_THAT(outcome.cause, HasSubstr("last operation: in product"));
}

TEST(Ranks, ALongOperationOfItsOwnIsNoHang) {
  const auto [outcome, seconds] = run_probe(2, "work", {.rank_timeout_seconds = 2.0});
  EXPECT_TRUE(outcome.ok()) << outcome.cause;
  EXPECT_GT(seconds, 5.0);
}

struct ForeignRun {
  int exit_code = -1;
  std::string text = std::string(65536, '\0');
};
ForeignRun run_under_another_launcher(const std::string& how) {
  ForeignRun run;
  const std::string command = std::string(
                                  "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                                  "mpirun -np 2 --oversubscribe ") +
                              MESHWRIGHT_RANK_PROBE + " " + how + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return run;
  run.text.resize(fread(run.text.data(), 1, run.text.size(), pipe));
  run.exit_code = WEXITSTATUS(pclose(pipe));
  return run;
}

// A layout that is smaller than the job leaves ranks over for a whole trial.
TEST(Ranks, UnderAnotherLauncherARankThatHasNothingToDoIsNoHang) {
  const ForeignRun run = run_under_another_launcher("idle");
  EXPECT_EQ(run.exit_code, 0) << run.text;
}

// Under another launcher than ours nobody reads reports, and the rank ends itself.
TEST(Ranks, UnderAnotherLauncherAHangingRankEndsItself) {
  const auto [exit_code, text] = run_under_another_launcher("loop");
  EXPECT_EQ(exit_code, 3);
  EXPECT_THAT(text, HasSubstr("meshwright: rank 1 on " + host_name() + ": no progress for 2 s"));
}

// That no process holds: the lock of one that is in use cannot be had.
int abandoned_folders() {
  int count = 0;
  for (const std::string parent : {"/dev/shm", "/tmp"}) {
    for (const auto& entry : std::filesystem::directory_iterator(parent)) {
      if (!entry.path().filename().string().starts_with("meshwright-ranks-")) continue;
      const int fd = open(entry.path().c_str(), O_RDONLY | O_DIRECTORY);
      if (fd < 0) continue;
      if (flock(fd, LOCK_SH | LOCK_NB) == 0) ++count;
      close(fd);
    }
  }
  return count;
}

TEST(Ranks, NothingOfAKilledJobStaysInSharedMemory) {
  run_probe(2, "kill");
  EXPECT_EQ(abandoned_folders(), 0);
  // A launcher that is killed cannot remove anything; the next one does.
  const pid_t launcher = fork();
  if (launcher == 0) {
    run_probe(2, "hang");
    _exit(0);
  }
  sleep(2);
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  for (int i = 0; i < 100 && abandoned_folders() == 0; ++i) usleep(100'000);
  EXPECT_TRUE(run_probe(1, "collectives").outcome.ok());
  EXPECT_EQ(abandoned_folders(), 0);
}

TEST(Ranks, AnInterruptEndsAllRanks) {
  const pid_t helper = fork();
  if (helper == 0) {
    sleep(2);
    kill(getppid(), SIGINT);
    _exit(0);
  }
  const auto [outcome, seconds] = run_probe(2, "hang");
  waitpid(helper, nullptr, 0);
  EXPECT_LT(seconds, kNoticed);
  EXPECT_EQ(outcome.cause, "interrupted");
  EXPECT_EQ(outcome.signal, SIGINT);
}

TEST(Ranks, WithoutMpirunOnPathTheErrorSaysHowToGetIt) {
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  try {
    launch_ranks(2, {MESHWRIGHT_RANK_PROBE, "collectives"});
    FAIL() << "no error";
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(), "mpirun is not on PATH, so no ranks can be started");
    EXPECT_NE(error.hint().find("apt install openmpi-bin"), std::string::npos);
  }
  setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace meshwright::calibrate
