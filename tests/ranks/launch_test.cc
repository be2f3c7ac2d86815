// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/launch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

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

TEST(Ranks, AFailedMpiCallIsASystemErrorWithMpisText) {
  EXPECT_TRUE(run_probe(2, "error").outcome.ok());
}

// The promise is 10 seconds from the death; starting the ranks is inside the measured time.
TEST(Ranks, AKilledRankEndsTheJobAndIsNamedWithHostAndCause) {
  const auto [outcome, seconds] = run_probe(2, "kill");
  EXPECT_LT(seconds, 10.0);
  EXPECT_EQ(outcome.rank, 1);
  EXPECT_EQ(outcome.host, host_name());
  EXPECT_EQ(outcome.cause, "was killed by signal 9 (Killed)");
  EXPECT_EQ(outcome.exit_code, 137);
}

TEST(Ranks, ARankThatLeavesWithACodeEndsTheJob) {
  const auto [outcome, seconds] = run_probe(2, "exit");
  EXPECT_LT(seconds, 10.0);
  EXPECT_EQ(outcome.rank, 1);
  EXPECT_EQ(outcome.cause, "ended with exit code 7");
  EXPECT_EQ(outcome.exit_code, 7);
}

TEST(Ranks, ARankThatAbortsSaysWhyItself) {
  const auto [outcome, seconds] = run_probe(2, "abort");
  EXPECT_LT(seconds, 10.0);
  EXPECT_EQ(outcome.rank, 1);
  EXPECT_EQ(outcome.host, host_name());
  EXPECT_EQ(outcome.cause, "the device is on fire");
  EXPECT_EQ(outcome.exit_code, 3);
}

TEST(Ranks, AJobThatHangsEndsAtItsTimeLimit) {
  const auto [outcome, seconds] = run_probe(2, "hang", {.time_limit_seconds = 2.0});
  EXPECT_LT(seconds, 12.0);
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.cause, "the ranks did not end within the time limit");
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
  EXPECT_LT(seconds, 12.0);
  EXPECT_EQ(outcome.cause, "interrupted");
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
