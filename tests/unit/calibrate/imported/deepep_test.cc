// SPDX-License-Identifier: Apache-2.0
// Lines as DeepEP's tests printed them in 2025, of three versions.
#include "calibrate/measure/deepep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/imported/imported.h"

namespace meshwright::calibrate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const GroupCall& call_of(const MeasuredPoint& p) { return p.as<timed::CollectiveCall>()->call; }

// 320.68 GB/s for 499.58 us are 160.2 MB. Rows of the sweep count for nothing.
TEST(DeepEp, TheBestOfATunedKernelIsAPoint) {
  const Imported result = imported(
      "[config] num_tokens=4096, hidden=7168, num_topk=8\n[layout] Kernel performance: 0.041 ms\n"
      "[tuning] SMs 24, NVL chunk 4: 294.24 GB/s (NVL), 544.47 us\n"
      "[tuning] Best dispatch (FP8): SMs 24, NVL chunk 6, 320.68 GB/s (NVL), t: 499.58 us\n"
      "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 4, 331.77 GB/s (NVL), t: 936.50 us\n"
      "[tuning] Best combine: SMs 24, NVL chunk 4: 321.89 GB/s (NVL), t: 965.24 us\n",
      "intranode.log");
  EXPECT_EQ(result.tool, "DeepEP's tests");
  ASSERT_EQ(result.points.size(), 3U);
  EXPECT_EQ(call_of(result.points[0]).algorithm, "DeepEP combine bf16");
  const MeasuredPoint& dispatch = result.points[2];
  EXPECT_EQ(call_of(dispatch).algorithm, "DeepEP dispatch fp8");
  EXPECT_EQ(call_of(dispatch).tier, Tier::intra_node);
  EXPECT_EQ(call_of(dispatch).group_size, 8);
  EXPECT_NEAR(dispatch.time().value(), 499.58e-6, 1e-12);
  EXPECT_NEAR(dispatch.amount.value(), 320.68e9 * 499.58e-6, 1.0);
  EXPECT_THAT(result.notes, Contains(HasSubstr("8 ranks per node are assumed")));
}

// A token's 8 of 256 experts lie on 8 (1 - C(224, 8) / C(256, 8)) = 5.294 of 8 ranks: 4096 x 7168 x
// 2 B x 5.294 = 310.9 MB at 158.61 GB/s take 1.960 ms.
TEST(DeepEp, ATimeThatIsNotPrintedFollowsFromTheSizes) {
  const std::string best =
      "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 32, 158.61 GB/s (NVL)\n";
  const Imported result =
      imported("[config] num_tokens=4096, hidden=7168, num_topk=8\n" + best, "x.log");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_NEAR(result.points[0].amount.value(), 310.9e6, 0.1e6);
  EXPECT_NEAR(result.points[0].time().value(), 1.960e-3, 1e-6);
  EXPECT_THROW(imported(best, "x.log"), InputError);  // neither time nor sizes
}

// Two nodes print: their median. Rates of the NICs count, and the second time is theirs.
TEST(DeepEp, BetweenNodesTheNicsCount) {
  const std::string config =
      "[config] num_tokens=4096, hidden=7168, num_topk_groups=2, num_topk=8\n";
  const Imported result =
      imported("0: " + config + "1: " + config +
                   "0: [tuning] Best dispatch (FP8): SMs 24, NVL chunk 24, RDMA chunk 8: 37 + 1200 "
                   "us, 50.00 GB/s (RDMA), 99.93 GB/s (NVL)\n"
                   "1: [tuning] Best dispatch (FP8): SMs 24, NVL chunk 24, RDMA chunk 8: 37 + 1300 "
                   "us, 48.00 GB/s (RDMA), 96.0 GB/s (NVL)\n",
               "internode.log");
  ASSERT_EQ(result.points.size(), 1U);
  const GroupCall& call = call_of(result.points[0]);
  EXPECT_EQ(call.tier, Tier::inter_node);
  EXPECT_EQ(call.group_size, 16);
  EXPECT_EQ(call.ranks_per_node, 8);
  EXPECT_NEAR(result.points[0].time().value(), 1300e-6, 1e-12);
  EXPECT_NEAR(result.points[0].amount.value(), 50e9 * 1300e-6, 1.0);
  EXPECT_THAT(result.notes, Not(Contains(HasSubstr("nodes are assumed"))));
}

TEST(DeepEp, NodesThatTheLogDoesNotStateAreNoted) {
  const std::string rest =
      "[config] num_tokens=4096, hidden=7168, num_topk_groups=4, num_topk=8\n"
      "[tuning] Best combine: SMs 24, NVL chunk 4, RDMA chunk 20: 62.1 GB/s (RDMA), 203.2 GB/s "
      "(NVL)\n";
  const Imported assumed = imported(rest, "x.log");
  EXPECT_EQ(call_of(assumed.points[0]).group_size, 32);
  EXPECT_THAT(assumed.notes, Contains(HasSubstr("4 nodes are assumed")));
  const Imported stated = imported("+ WORLD_SIZE=8 RANK=0 python test_internode.py\n" + rest, "x");
  EXPECT_EQ(call_of(stated.points[0]).group_size, 64);
  EXPECT_THAT(stated.notes, Not(Contains(HasSubstr("nodes are assumed"))));
}

// Two ranks, two runs; the median of the ranks. 40 GB/s for 100 us are 4 MB.
TEST(DeepEp, EachRunOfLowLatencyIsTwoPoints) {
  const std::string run =
      "[rank 0] Dispatch + combine bandwidth: 41.0 GB/s, avg_t=290.0 us, min_t=1 us, max_t=2 us\n"
      "[rank 0] Dispatch bandwidth: 40.00 GB/s, avg_t=90.00 us | Combine bandwidth: 43.00 GB/s, "
      "avg_t=170.00 us\n"
      "[rank 1] Dispatch bandwidth: 40.00 GB/s, avg_t=110.00 us | Combine bandwidth: 43.00 GB/s, "
      "avg_t=190.00 us\n"
      "[rank 0] Dispatch send/recv time: 19.50 + 6.10 us | Combine send/recv time: 1 + 2 us\n";
  const Imported result = imported(run + run, "low_latency.log");
  ASSERT_EQ(result.points.size(), 4U);
  EXPECT_EQ(call_of(result.points[0]).algorithm, kDeepEpDispatchLowLatency);
  EXPECT_EQ(call_of(result.points[1]).algorithm, kDeepEpCombineLowLatency);
  EXPECT_EQ(call_of(result.points[0]).group_size, 2);
  EXPECT_NEAR(result.points[0].time().value(), 100e-6, 1e-12);
  EXPECT_NEAR(result.points[0].amount.value(), 4e6, 1.0);
}

TEST(DeepEp, ItsKernelsAreNoCollectivesOfNccls) {
  MeasuredPoint dispatch, library;
  dispatch.subject = timed::CollectiveCall{
      {.collective = Collective::all_to_all, .group_size = 8, .algorithm = "DeepEP dispatch bf16"}};
  library.subject = timed::CollectiveCall{
      {.collective = Collective::all_to_all, .group_size = 8, .algorithm = "ring simple"}};
  EXPECT_FALSE(same_subject(dispatch, library));
  EXPECT_THAT(dispatch.label(), HasSubstr("DeepEP dispatch bf16"));
}

}  // namespace
}  // namespace meshwright::calibrate
