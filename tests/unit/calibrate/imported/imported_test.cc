// SPDX-License-Identifier: Apache-2.0
// The inputs are made up, in the formats that the tools document.
#include "calibrate/imported/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/profile/profile_json.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

using ::testing::HasSubstr;

constexpr char kNcclText[] = R"(+ mpirun -np 4 ./build/all_reduce_perf -b 1M -e 4M -f 2
[1,0]<stdout>:# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 1
[1,0]<stdout>:#
[1,0]<stdout>:# Using devices
[1,0]<stdout>:#  Rank  0 Group  0 Pid   101 on  alpha device  0 [0000:0f:00] Some GPU
[1,0]<stdout>:#  Rank  1 Group  0 Pid   102 on  alpha device  1 [0000:1f:00] Some GPU
[1,0]<stdout>:#  Rank  2 Group  0 Pid   103 on  beta device  0 [0000:0f:00] Some GPU
[1,0]<stdout>:#  Rank  3 Group  0 Pid   104 on  beta device  1 [0000:1f:00] Some GPU
alpha:101:101 [0] NCCL INFO Bootstrap : Using eth0
[1,0]<stdout>:#                                                      out-of-place                       in-place
[1,0]<stdout>:#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
[1,0]<stdout>:#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
[1,0]<stdout>:     1048576        262144     float     sum      -1    100.5   10.43   15.65      0    101.0   10.38   15.57      0
[1,0]<stdout>:     2097152        524288     float     sum      -1    150.0   13.98   20.97      3    150.0   13.98   20.97      0
[1,0]<stdout>:     4194304       1048576     float     sum      -1  1.2e+03    3.50    5.24    N/A   1.2e+03   3.50    5.24    N/A
[1,0]<stdout>:# Out of bounds values : 0 OK
[1,0]<stdout>:# Avg bus bandwidth    : 14.0
)";

const GroupCall& call_in(const MeasuredPoint& point) {
  return point.as<timed::CollectiveCall>()->call;
}

TEST(ImportedNcclTests, RowsOfALogArePoints) {
  const Imported result = imported(kNcclText, "job.log");
  EXPECT_EQ(result.tool, "nccl-tests");
  ASSERT_EQ(result.points.size(), 2U);
  const MeasuredPoint& p = result.points[0];
  EXPECT_EQ(call_in(p).collective, Collective::all_reduce);
  EXPECT_EQ(call_in(p).tier, Tier::inter_node);
  EXPECT_EQ(call_in(p).group_size, 4);
  EXPECT_EQ(call_in(p).ranks_per_node, 2);
  EXPECT_EQ(p.amount, bytes(1048576));
  EXPECT_NEAR(p.time().value(), 100.5e-6, 1e-15);
  EXPECT_NEAR(result.points[1].time().value(), 1.2e-3, 1e-15);
}

TEST(ImportedNcclTests, EveryNamedDeviceIsKeptOnce) {
  EXPECT_THAT(imported(kNcclText, "job.log").devices, testing::ElementsAre("Some GPU"));
  EXPECT_THAT(from_nccl_tests("#  Rank  0 Group  0 Pid 1 on hostA device  0 [0x31] NVIDIA A40\n"
                              "#  Rank  1 Group  0 Pid 1 on hostB device  0 [0x31] NVIDIA L4\n",
                              "a.log")
                  .devices,
              testing::ElementsAre("NVIDIA A40", "NVIDIA L4"));
  EXPECT_THAT(from_nccl_tests("# Rank 0 Group 0 Pid 1 on hostA device 0\n", "a.log").devices,
              testing::IsEmpty());
}

TEST(ImportedNcclTests, WrongResultsAreLeftOutAloud) {
  const Imported result = imported(kNcclText, "job.log");
  // The next larger message is at a third of the rate: 15.65, then 5.24 GB/s.
  EXPECT_THAT(result.notes,
              testing::ElementsAre(HasSubstr("2097152 bytes left out: 3 wrong values"),
                                   HasSubstr("no healthy link does so")));
}

// A bus bandwidth of 1.5 times the algorithm's and a sum are an all-reduce's of four ranks.
TEST(ImportedNcclTests, ALogThatDoesNotSayWhichCollectiveIsRefused) {
  std::string text = kNcclText;
  text.erase(0, text.find('\n') + 1);
  EXPECT_EQ(call_in(imported(text, "job.log").points[0]).collective, Collective::all_reduce);
  for (std::size_t at = text.find("sum"); at != std::string::npos; at = text.find("sum", at)) {
    text.replace(at, 3, "none");
  }
  EXPECT_THROW(imported(text, "job.log"), InputError);
  EXPECT_EQ(call_in(imported(text, "runs/all_gather_2nodes.txt").points[0]).collective,
            Collective::all_gather);
}

// Neighbours send to each other, all at once: pairs.
TEST(ImportedNcclTests, SendAndReceiveArePairsAtOnce) {
  std::string text = kNcclText;
  text.replace(text.find("all_reduce_perf"), 15, "sendrecv_perf");
  const MeasuredPoint p = imported(text, "x.log").points[0];
  EXPECT_EQ(call_in(p).group_size, 2);
  EXPECT_EQ(call_in(p).ranks_per_node, 1);
  EXPECT_EQ(call_in(p).groups_per_node, 2);
}

// Numbers as strings, and an environment that must not be kept.
constexpr char kNcclJson[] = R"({"version": 3, "args": ["./reduce_scatter_perf", "-J", "out.json"],
"env": ["HF_TOKEN=secret"], "nccl_version": 22809,
"config": {"devices": [{"rank": 0, "hostname": "alpha", "device_info": "NVIDIA H100"}, {"rank": 1, "hostname": "alpha"}]},
"results": [
 {"size": 1024, "out_of_place": {"time": "12.5", "alg_bw": 0.08, "bus_bw": 0.04, "nwrong": "0"}},
 {"size": 2048, "out_of_place": {"cpu_time": 13.5, "nwrong": 0}},
 {"size": 4096, "out_of_place": {"time": "nan", "nwrong": 0}}]})";

TEST(ImportedNcclTests, JsonIsReadAndItsEnvironmentIsNot) {
  const Imported result = imported(kNcclJson, "out.json");
  ASSERT_EQ(result.points.size(), 2U);
  EXPECT_EQ(call_in(result.points[0]).collective, Collective::reduce_scatter);
  EXPECT_THAT(result.devices, testing::ElementsAre("NVIDIA H100"));
  EXPECT_EQ(call_in(result.points[0]).tier, Tier::intra_node);
  EXPECT_NEAR(result.points[0].time().value(), 12.5e-6, 1e-15);
  EXPECT_NEAR(result.points[1].time().value(), 13.5e-6, 1e-15);
  EXPECT_EQ(to_json(result.points[0]).dump().find("secret"), std::string::npos);
}

// 92.87 Gb/s = 11.60875e9 B/s; 1 MiB takes 90.3263 us. 1 KiB is left out.
TEST(ImportedIbWriteBw, AverageGigabitsBecomeTheTimeOfAMessage) {
  const Imported result =
      imported(R"(---------------------------------------------------------------
                    RDMA_Write BW Test
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1024       5000             90.00              88.00              1.0
 1048576    5000             93.10              92.87              0.011
---------------------------------------------------------------
)",
               "ib.txt");
  EXPECT_EQ(result.tool, "ib_write_bw");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_EQ(call_in(result.points[0]).collective, Collective::send_recv);
  EXPECT_EQ(call_in(result.points[0]).tier, Tier::inter_node);
  EXPECT_NEAR(result.points[0].time().value(), 1048576.0 / (92.87e9 / 8.0), 1e-12);
  ASSERT_EQ(result.notes.size(), 1U);
}

// perftest's MB is 2^20 bytes: 1 MiB at 100 MB/sec takes 10 ms.
TEST(ImportedIbWriteBw, ItsMegabytesAreMebibytes) {
  const Imported result = from_ib_write_bw(
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 1048576    5000             110.00             100.00             0.0001\n");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_NEAR(result.points[0].time().value(), 0.01, 1e-12);
}

// 2,000,000 MB/s over the shortest run of 1 ms: 2e9 bytes, in 1.25 ms on average.
TEST(ImportedBabelStream, CopyIsAMemoryCopy) {
  const Imported result = imported(R"(BabelStream
Version: 5.0
Implementation: CUDA
Running kernels 100 times
Function    MBytes/sec  Min (sec)   Max         Average
Copy        2000000.000 0.00100     0.00150     0.00125
Mul         1900000.000 0.00105     0.00150     0.00125
Triad       1950000.000 0.00153     0.00190     0.00170
)",
                                   "stream.txt");
  EXPECT_EQ(result.tool, "BabelStream");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_TRUE(result.points[0].is<timed::MemoryCopy>());
  EXPECT_NEAR(result.points[0].amount.value(), 2e9, 1.0);
  EXPECT_NEAR(result.points[0].time().value(), 1.25e-3, 1e-12);
}

// NCCL_TESTS_SPLIT="MOD 2" on two nodes of two: each group has a rank on either node.
TEST(ImportedNcclTests, SplitGroupsAreCommunicatorsOfTheirOwn) {
  const Imported result = imported(R"(# all_reduce_perf
#  Rank  0 Group  0 Pid 1 on alpha device  0 [0000:0f:00] Some GPU
#  Rank  1 Group  1 Pid 2 on alpha device  1 [0000:1f:00] Some GPU
#  Rank  2 Group  0 Pid 3 on beta device  0 [0000:0f:00] Some GPU
#  Rank  3 Group  1 Pid 4 on beta device  1 [0000:1f:00] Some GPU
#       size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong
     1048576 262144 float    sum    -1 100.0  10.49  10.49      0 101.0  10.38  10.38      0
)",
                                   "split.txt");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_EQ(call_in(result.points[0]).group_size, 2);
  EXPECT_EQ(call_in(result.points[0]).ranks_per_node, 1);
  EXPECT_EQ(call_in(result.points[0]).groups_per_node, 2);
}

TEST(Imported, AnythingElseIsRefused) {
  EXPECT_THROW(imported("hello\n1 2 3\n", "x.txt"), InputError);
  EXPECT_THROW(imported("", "x.txt"), InputError);
  EXPECT_THROW(imported("{\"results\": []}", "x.json"), InputError);
}

}  // namespace
}  // namespace meshwright::calibrate
