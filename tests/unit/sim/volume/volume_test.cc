// SPDX-License-Identifier: Apache-2.0
#include "sim/volume/volume.h"

#include <gtest/gtest.h>

#include "tests/unit/sim/volume/lower_bound.h"
#include "tests/unit/sim/volume/volume_fixture.h"

namespace meshwright {
namespace {

using namespace volume_test;

TEST(Volume, OneRankMovesNothing) {
  for (const Model& model : {small_model(), small_experts()}) {
    EXPECT_TRUE(stage_of(model, Layout{}).transfers.empty());
  }
}

// nccl-tests: all-reduce 2(n-1)/n, the others (n-1)/n, a send the whole.
TEST(Volume, BytesSentFollowTheBandwidthOptimalAlgorithms) {
  const Bytes s = bytes(800);
  EXPECT_EQ(bytes_sent(Collective::all_reduce, s, 8), bytes(1400));
  EXPECT_EQ(bytes_sent(Collective::all_gather, s, 8), bytes(700));
  EXPECT_EQ(bytes_sent(Collective::reduce_scatter, s, 8), bytes(700));
  EXPECT_EQ(bytes_sent(Collective::all_to_all, s, 8), bytes(700));
  EXPECT_EQ(bytes_sent(Collective::send_recv, s, 2), bytes(800));
  EXPECT_EQ(bytes_sent(Collective::all_reduce, s, 1), bytes(0));
}

TEST(Volume, SwitchesThatReduceNeedEachArrayOnce) {
  Transfer transfer;
  transfer.collective = Collective::all_reduce;
  transfer.payload = bytes(800);
  transfer.group_size = 8;
  EXPECT_EQ(lower_bound_sent(transfer, false), bytes(1400));
  EXPECT_EQ(lower_bound_sent(transfer, true), bytes(800));
  transfer.collective = Collective::all_gather;
  EXPECT_EQ(lower_bound_sent(transfer, true), bytes(700));
}

TEST(Volume, NothingIsSentBelowTheLowerBound) {
  Layout layout = tensor(2, true);
  layout.pipeline_parallel_size = 2;
  layout.data_parallel_size = 4;
  layout.zero_stage = 1;
  for (const StageVolume& stage : volume(small_model(), small_job(), layout).stages) {
    ASSERT_FALSE(stage.transfers.empty());
    for (const Transfer& transfer : stage.transfers) {
      EXPECT_GE(transfer.sent(), lower_bound_sent(transfer, false)) << transfer.name;
      EXPECT_GE(transfer.sent(), lower_bound_sent(transfer, true)) << transfer.name;
    }
  }
}

TEST(Volume, TotalsAreTheSumsOfTheirEntries) {
  Layout layout = tensor(2, true);
  layout.context_parallel_size = 2;
  layout.data_parallel_size = 2;
  const StageVolume stage = stage_of(small_model(), layout);
  Bytes groups;
  for (int group = 0; group <= static_cast<int>(Group::model); ++group) {
    groups += stage.sent(static_cast<Group>(group));
  }
  Bytes entries;
  for (const Transfer& transfer : stage.transfers) entries += transfer.sent_per_step();
  EXPECT_EQ(groups, entries);
  EXPECT_EQ(stage.sent(), entries);
}

TEST(Volume, GroupsOfOneRankAreLeftOut) {
  Layout layout = tensor(4);
  for (const Transfer& transfer : stage_of(small_model(), layout).transfers) {
    EXPECT_GT(transfer.group_size, 1) << transfer.name;
  }
}

// Half the micro-batch size, twice the micro-batches: the same tokens.
TEST(Volume, SmallerMicroBatchesMoveTheSameTensorBytes) {
  for (const bool sequence_parallel : {false, true}) {
    Layout layout = tensor(4, sequence_parallel);
    layout.micro_batch_size = 2;
    const Bytes large = stage_of(small_model(), layout).sent(Group::tensor);
    layout.micro_batch_size = 1;
    EXPECT_EQ(stage_of(small_model(), layout).sent(Group::tensor), large);
  }
}

TEST(Volume, TheBusiestStageSendsMost) {
  Layout layout = tensor(4);
  layout.pipeline_parallel_size = 4;
  const Volume all = volume(small_model(), small_job(), layout);
  for (const StageVolume& stage : all.stages) EXPECT_GE(all.busiest().sent(), stage.sent());
}

TEST(Volume, EveryEntrySaysItsNameAndFormula) {
  Layout layout = tensor(2, true);
  layout.pipeline_parallel_size = 2;
  layout.context_parallel_size = 2;
  layout.data_parallel_size = 2;
  layout.expert_parallel_size = 4;
  for (const StageVolume& stage : volume(small_experts(), small_job(), layout).stages) {
    for (const Transfer& transfer : stage.transfers) {
      EXPECT_FALSE(transfer.name.empty());
      EXPECT_FALSE(transfer.formula.empty()) << transfer.name;
    }
  }
}

// h = 64, l = 8, b = 16 / 2 = 8, s = 32, k = 8 / 4 = 2: h^2 l = 32768; b s h l = 131072; b s h l /
// k = 65536.
TEST(Volume, PublishedOrdersAreElementsAndExactBytesStandBeside) {
  Layout layout = tensor(2);
  layout.pipeline_parallel_size = 4;
  layout.data_parallel_size = 2;
  const PublishedOrders orders = published_orders(small_model(), small_job(), layout);
  EXPECT_EQ(orders.data_parallel, 32768);
  EXPECT_EQ(orders.tensor_parallel, 131072);
  EXPECT_EQ(orders.pipeline_parallel, 65536);
  // A middle stage sends 8 micro-batches forward and back: 16 * 4096.
  EXPECT_EQ(orders.pipeline_exact, bytes(16 * kUnit));
  EXPECT_EQ(orders.tensor_exceeds_data, orders.tensor_exact > orders.data_exact);
  EXPECT_EQ(orders.data_exceeds_pipeline, orders.data_exact > orders.pipeline_exact);
}

}  // namespace
}  // namespace meshwright
