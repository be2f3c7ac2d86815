// SPDX-License-Identifier: Apache-2.0
// Logs as launchers write them: labels inside lines, several programs, types and runs in one file.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/imported/imported.h"
#include "calibrate/imported/lines.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "tests/unit/error_of.h"

namespace meshwright::calibrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kHeader[] =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  "
    "algbw   busbw #wrong\n";

const GroupCall& nccl_call(const MeasuredPoint& point) {
  return point.as<timed::CollectiveCall>()->call;
}

std::string ranks_on(int hosts, int per_host) {
  std::string text = "# Using devices\n";
  for (int rank = 0; rank < hosts * per_host; ++rank) {
    text += fmt::format(
        "#  Rank {:2} Group  0 Pid 49{} on host{} device  {} [0xa4] NVIDIA H100 80GB HBM3\n", rank,
        rank, rank / per_host, rank % per_host);
  }
  return text;
}

std::string nccl_row(double size, double us, const std::string& type = "float",
                     const std::string& redop = "sum") {
  return fmt::format("{:12.0f} {:12.0f} {} {} -1 {} 1.0 1.0 0 {} 1.0 1.0 0\n", size, size / 4, type,
                     redop, us, us);
}

std::string labelled(const std::string& text, const std::string& label) {
  std::string all;
  for (const std::string& line : split_lines(text)) all += label + line + "\n";
  return all;
}

TEST(LogLines, LabelsOfLaunchersGo) {
  EXPECT_THAT(log_lines("[0] 8 -1[0]  16.5 0[0]"), ElementsAre(" 8 -1   16.5 0 "));
  EXPECT_THAT(log_lines("[1,0]<stdout>: 8 -1[1,0]<stdout>: 9"), ElementsAre(" 8 -1  9"));
  EXPECT_THAT(log_lines("[prterun-n1-77@1,0]<stdout>:8 2"), ElementsAre("8 2"));
  EXPECT_THAT(log_lines("12: # Rank 0"), ElementsAre("# Rank 0"));
  EXPECT_THAT(log_lines("0: 8 -10:  9"), ElementsAre("8 -1  9"));
  EXPECT_THAT(log_lines("[0xa4] x"), ElementsAre("[0xa4] x"));
  EXPECT_THAT(log_lines("host:12:13 [0] NCCL INFO"), ElementsAre("host:12:13 [0] NCCL INFO"));
}

// 16 ranks on two hosts; 32 MiB in 2180.1 us are 28.9 GB/s of bus (15/8), 64 MiB in 24,410 us 5.2.
TEST(NcclTests, LabelsInsideLinesAndACliff) {
  const std::string rows =
      "[0]     33554432   8388608     float     sum      -1[0]    2180.1   15.39   29.50      0[0] "
      "   "
      "2285.2   14.68   28.14      0\n"
      "[0]     67108864  16777216     float     sum      -1[0]     24410    2.75    5.27      0[0] "
      "    "
      "24425    2.75    5.27      0\n";
  const std::string text = labelled(ranks_on(2, 8) + kHeader, "[0] ") + rows;
  const Imported result = imported(text, "all_reduce.log");
  ASSERT_EQ(result.points.size(), 2U);
  EXPECT_EQ(nccl_call(result.points[0]).collective, Collective::all_reduce);
  EXPECT_EQ(nccl_call(result.points[0]).group_size, 16);
  EXPECT_EQ(nccl_call(result.points[0]).ranks_per_node, 8);
  EXPECT_NEAR(result.points[0].time().value(), 2180.1e-6, 1e-12);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_THAT(result.notes[0], AllOf(HasSubstr("all_reduce over 16 ranks falls from 28.9 GB/s"),
                                     HasSubstr("at 32 MiB to 5.15 at 64 MiB"),
                                     HasSubstr("no healthy link does so")));
}

// 29.50 of the bus over 15.39 is more than the payload: only an all-reduce moves so much.
TEST(NcclTests, AnUnnamedAllReduceIsKnownByItsBus) {
  const std::string rows =
      "  33554432   8388608     float     sum      -1    2180.1   15.39   29.50      0    2285.2   "
      "14.68   28.14      0\n";
  const Imported result = imported(ranks_on(2, 8) + kHeader + rows, "job-17.log");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_EQ(nccl_call(result.points[0]).collective, Collective::all_reduce);
  EXPECT_THAT(result.notes.front(), HasSubstr("no program is named"));
  EXPECT_THAT(
      error_of([] { imported(ranks_on(2, 8) + kHeader + nccl_row(1048576, 60), "job-17.log"); }),
      HasSubstr("does not say which collective"));
}

TEST(NcclTests, ARateThatGrowsHasNoNote) {
  const std::string text = "all_reduce_perf\n" + ranks_on(1, 8) + kHeader + nccl_row(1048576, 60) +
                           nccl_row(2097152, 80) + nccl_row(4194304, 150);
  EXPECT_TRUE(imported(text, "x.log").notes.empty());
}

// A pod's name before every line, as kubectl and pdsh put it.
TEST(NcclTests, NamesOfHostsAndPodsBeforeLines) {
  for (const char* label :
       {"launcher-0: ", "2025-03-01T10:00:00Z ", "[launcher] [pod/x] ", "3: "}) {
    const std::string text = labelled("# Collective test starting: all_gather_perf\n" +
                                          ranks_on(1, 4) + kHeader + nccl_row(1048576, 60),
                                      label);
    const Imported result = imported(text, "x.log");
    ASSERT_EQ(result.points.size(), 1U) << label;
    EXPECT_EQ(nccl_call(result.points[0]).group_size, 4) << label;
    EXPECT_EQ(nccl_call(result.points[0]).collective, Collective::all_gather) << label;
  }
}

// Each table has its own program and its own ranks.
TEST(NcclTests, SeveralProgramsInOneLog) {
  const std::string text = "+ mpirun -np 8 ./build/all_reduce_perf -b 1M\n" + ranks_on(1, 8) +
                           kHeader + nccl_row(1048576, 60) +
                           "+ mpirun -np 16 ./build/alltoall_perf_mpi -b 1M\n" + ranks_on(2, 8) +
                           kHeader + nccl_row(1048576, 90, "float", "none");
  const Imported result = imported(text, "x.log");
  ASSERT_EQ(result.points.size(), 2U);
  EXPECT_EQ(nccl_call(result.points[0]).collective, Collective::all_reduce);
  EXPECT_EQ(nccl_call(result.points[0]).group_size, 8);
  EXPECT_EQ(nccl_call(result.points[1]).collective, Collective::all_to_all);
  EXPECT_EQ(nccl_call(result.points[1]).group_size, 16);
}

TEST(NcclTests, WhatIsNoCollectiveOfAStepIsLeftOutAloud) {
  const std::string text = "./reduce_perf\n" + ranks_on(1, 8) + kHeader + nccl_row(1048576, 60) +
                           "./broadcast_perf\n" + ranks_on(1, 8) + kHeader + nccl_row(1048576, 50);
  const Imported result = imported(text, "x.log");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_EQ(nccl_call(result.points[0]).collective, Collective::broadcast);
  EXPECT_THAT(result.notes.front(), HasSubstr("1 rows of reduce_perf left out"));
}

// -d all: bfloat16 stands for the size, and of three like runs the middle one.
TEST(NcclTests, OneTypeOfSeveralIsTaken) {
  const std::string text = "./all_reduce_perf -d all\n" + ranks_on(1, 8) + kHeader +
                           nccl_row(1048576, 70, "int8") + nccl_row(1048576, 60, "half") +
                           nccl_row(1048576, 55, "bfloat16", "max") +
                           nccl_row(1048576, 53, "bfloat16") + nccl_row(1048576, 51, "bfloat16") +
                           nccl_row(1048576, 52, "bfloat16");
  const Imported result = imported(text, "x.log");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_NEAR(result.points[0].time().value(), 52e-6, 1e-12);
  EXPECT_THAT(result.notes.front(), HasSubstr("several types"));
  const Imported fp8 = imported(
      "./all_reduce_perf\n" + ranks_on(1, 8) + kHeader + nccl_row(2097152, 60, "f8e4m3"), "x.log");
  EXPECT_EQ(fp8.points.size(), 1U);
}

// Built without MPI, every process is a rank 0 of its own.
TEST(NcclTests, ProcessesThatRanAloneAreRefused) {
  const std::string rank = "#  Rank  0 Group  0 Pid 1 on host device  0 [0xa4] NVIDIA H100\n";
  const std::string text =
      "./all_reduce_perf\n# Using devices\n" + rank + rank + kHeader + nccl_row(1048576, 60);
  EXPECT_THAT(error_and_hint_of([&] { imported(text, "x.log"); }),
              AllOf(HasSubstr("rank 0 twice"), HasSubstr("MPI=1")));
}

TEST(NcclTests, ALoopsListOfProgramsDoesNotNameATable) {
  const std::string text =
      "for t in all_reduce_perf all_gather_perf; do\n./all_gather_perf -g 8\n" + ranks_on(1, 8) +
      kHeader + nccl_row(1048576, 60);
  EXPECT_EQ(nccl_call(imported(text, "x.log").points[0]).collective, Collective::all_gather);
  const std::string both =
      "./all_reduce_perf\n./all_gather_perf\n" + ranks_on(1, 8) + kHeader + nccl_row(1048576, 60);
  EXPECT_THAT(error_of([&] { imported(both, "x.log"); }),
              HasSubstr("several programs before a table: all_gather, all_reduce"));
}

}  // namespace
}  // namespace meshwright::calibrate
