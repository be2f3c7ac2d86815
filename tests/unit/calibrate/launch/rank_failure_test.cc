// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_failure.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "calibrate/launch/rank_report.h"

namespace meshwright::calibrate {
namespace {

RankFailure read(std::initializer_list<const char*> lines) {
  RankFailureReader reader;
  for (const char* line : lines) reader.read_line(line);
  return reader.failure();
}

TEST(RankFailure, OfAnEndlessLineTheBeginningCounts) {
  RankFailureReader reader;
  reader.read_line("meshwright: rank 1 on a: wrong " + std::string(2'000'000, 'x'));
  reader.read_line("meshwright: rank 99999999999999999999 on a: wrong");
  EXPECT_EQ(reader.failure().rank, 1);
  EXPECT_EQ(report_from_line("meshwright-progress: " + std::string(2'000'000, 'x')), std::nullopt);
}

TEST(RankFailure, OrdinaryOutputIsNoFailure) {
  EXPECT_EQ(read({"calibrating: 40 %", "note: 2 points are noisy", ""}).cause, "");
}

TEST(RankFailure, ASignalIsReadWithRankAndHost) {
  const RankFailure failure =
      read({"mpirun noticed that process rank 3 with PID 12 on node n07 "
            "exited on signal 11 (Segmentation fault)."});
  EXPECT_EQ(failure.rank, 3);
  EXPECT_EQ(failure.host, "n07");
  EXPECT_EQ(failure.cause, "was killed by signal 11 (Segmentation fault)");
}

TEST(RankFailure, OpenMpi5NamesItsLauncherOtherwise) {
  EXPECT_EQ(read({"prterun noticed that process rank 0 with PID 9 on node a exited on signal 9 "
                  "(Killed)."})
                .host,
            "a");
  const RankFailure code = read({"  Process name: [prterun-a-77@1,1]", "  Exit code:    7"});
  EXPECT_EQ(code.rank, 1);
  EXPECT_EQ(code.cause, "ended with exit code 7");
}

TEST(RankFailure, AnExitCodeIsReadFromTheLineAfterTheProcess) {
  const RankFailure failure = read({"  Process name: [[41353,1],1]", "  Exit code:    3"});
  EXPECT_EQ(failure.rank, 1);
  EXPECT_EQ(failure.host, "");
  EXPECT_EQ(failure.cause, "ended with exit code 3");
}

TEST(RankFailure, WhatTheRankSaidWinsOverWhatMpirunSaw) {
  const RankFailure failure = read({rank_failure_line(2, "n01", "no device").c_str(),
                                    "MPI_ABORT was invoked on rank 2 in communicator X",
                                    "  Process name: [[41353,1],0]", "  Exit code:    3"});
  EXPECT_EQ(failure.rank, 2);
  EXPECT_EQ(failure.host, "n01");
  EXPECT_EQ(failure.cause, "no device");
}

TEST(RankFailure, TheFirstRankThatSpokeStands) {
  const RankFailure failure = read({rank_failure_line(2, "n01", "no device").c_str(),
                                    rank_failure_line(0, "n00", "connection lost").c_str()});
  EXPECT_EQ(failure.rank, 2);
}

TEST(RankFailure, TooFewSlotsBelongToNoRank) {
  const RankFailure failure =
      read({"There are not enough slots available in the system to satisfy the 4"});
  EXPECT_EQ(failure.rank, -1);
  EXPECT_EQ(failure.cause, "mpirun has too few slots for that many ranks");
}

}  // namespace
}  // namespace meshwright::calibrate
