// SPDX-License-Identifier: Apache-2.0
#include "sim/step/data_parallel.h"

#include <gtest/gtest.h>

#include "sim/volume/transfer.h"

namespace meshwright {
namespace {

// 5 s beside 3 s of compute: 2 s stick out and the 3 s beside it are slowed by a tenth: 2.3 s.
TEST(ExposedTime, IsWhatSticksOutAndTheSlowdownOfTheRest) {
  EXPECT_DOUBLE_EQ(exposed_time(seconds(5), seconds(3), 0.1).value(), 2.3);
  // 2 s beside 3 s: all hidden, 0.2 s of slowdown.
  EXPECT_DOUBLE_EQ(exposed_time(seconds(2), seconds(3), 0.1).value(), 0.2);
}

TEST(ExposedTime, NothingIsHiddenWithoutComputeAndNothingGainedWhereOneCoreDoesBoth) {
  EXPECT_EQ(exposed_time(seconds(5), seconds(0), 0.1), seconds(5));
  EXPECT_EQ(exposed_time(seconds(5), seconds(3), 1.0), seconds(5));
}

// Reduce 5 s, gather 4 s, ZeRO-3's gathers 20 s forward and 30 s backward, of a step of 4
// micro-batches that take 2 s forward and 3 s backward each.
DataCost cost() {
  DataCost cost;
  cost.reduce.time = seconds(5);
  cost.gather.time = seconds(4);
  cost.forward_gather.time = seconds(20);
  cost.backward_gather.time = seconds(30);
  return cost;
}

Seconds exposed(const DataOverlap& overlap) {
  return exposed_data(cost(), overlap, seconds(2), seconds(3), 4, false).total();
}

TEST(ExposedData, IsTheWholeSumWhereNothingOverlaps) {
  EXPECT_EQ(exposed({.slowdown = 0.1}), seconds(5 + 4 + 20 + 30));
}

// Gradients hide behind one backward, 5 - 3; parameters behind one forward, 4 - 2; ZeRO-3's gathers
// behind all micro-batches': 20 - 4 * 2 and 30 - 4 * 3.
TEST(ExposedData, HidesEachKindBehindItsOwnCompute) {
  EXPECT_EQ(exposed({.reduce = true}), seconds(2 + 4 + 20 + 30));
  EXPECT_EQ(exposed({.gather = true}), seconds(5 + 2 + 20 + 30));
  EXPECT_EQ(exposed({.forward_gather = true}), seconds(5 + 4 + 12 + 30));
  EXPECT_EQ(exposed({.backward_gather = true}), seconds(5 + 4 + 20 + 18));
}

// 3, 2, 8 and 12 s are hidden; a tenth of them, 2.5 s, comes back as slower compute.
TEST(ExposedData, HiddenTrafficSlowsTheCompute) {
  EXPECT_DOUBLE_EQ(exposed({true, true, true, true, 0.1}).value(), 2 + 2 + 12 + 18 + 2.5);
}

// FSDP's first gather and its copies are waited for, whatever overlaps.
TEST(ExposedData, WaitsForWhatNothingRunsBeside) {
  DataCost cost;
  cost.alone.time = seconds(3);
  EXPECT_EQ(
      exposed_data(cost, {true, true, true, true, 0.1}, seconds(9), seconds(9), 4, false).total(),
      seconds(3));
}

// FSDP2, bf16 parameters and fp32 reduction, u parameters: a gather is copied out, 2 read + 2
// written; a gradient is copied in and cast, 2 read + 4 written. Two gathers and one reduction of a
// micro-batch: 14 bytes a parameter.
TEST(FsdpCopiesOf, AMicroBatchTouchesFourteenBytesAParameter) {
  const FsdpCopies copies{.gather = 2, .reduce_weights = 1, .reduce_gradients = 1};
  const double u = 1000;
  Transfer gather;
  gather.collective = Collective::all_gather;
  gather.times_per_step = 2;
  gather.payload = bytes(2 * u);
  Transfer reduce;
  reduce.collective = Collective::reduce_scatter;
  reduce.times_per_step = 1;
  reduce.payload = bytes(4 * u);
  const Job job;  // bf16, gradients fp32
  EXPECT_EQ(fsdp_copies(gather, job, copies) + fsdp_copies(reduce, job, copies), bytes(14 * u));
}

// A gradient of 1000 bytes that 4 ranks share, in each of 8 micro-batches: 1000 bytes of zeros, and
// of the share of 250 bytes two reads and a write: 8 x (1000 + 3 x 250) = 14,000 bytes.
Transfer gradient_of_each_micro_batch() {
  Transfer gradient;
  gradient.group = Group::data;
  gradient.collective = Collective::reduce_scatter;
  gradient.phase = Phase::backward;
  gradient.group_size = 4;
  gradient.times_per_step = 8;
  gradient.payload = bytes(1000);
  return gradient;
}

TEST(ShardedSums, TouchAGradientOnceAndARanksShareThreeTimes) {
  EXPECT_EQ(sharded_sums(gradient_of_each_micro_batch()), bytes(14'000));
}

// A rank alone has the whole gradient: 8 x (1000 + 3 x 1000) bytes.
TEST(ShardedSums, TouchAGradientFourTimesOnOneRank) {
  Transfer gradient = gradient_of_each_micro_batch();
  gradient.group_size = 1;
  EXPECT_EQ(sharded_sums(gradient), bytes(32'000));
}

// 14,000 bytes at 1000 bytes a second are 14 s. On a GPU nothing is waited for.
TEST(ShardedSums, CostTimeOnCoresOnly) {
  Cluster cluster;
  cluster.num_nodes = 1;
  cluster.intra_node.bandwidth = gigabytes_per_second(100);
  only_device(cluster).kind = DeviceKind::cpu;
  only_device(cluster).kernels = {{.kernel = "add", .rate = bytes_per_second(1000)}};
  const Layout layout{.data_parallel_size = 4, .zero_stage = 2};
  StageVolume volume;
  volume.transfers = {gradient_of_each_micro_batch()};
  EXPECT_EQ(data_cost(volume, {}, layout, cluster).alone.time, seconds(14));
  only_device(cluster).kind = DeviceKind::gpu;
  EXPECT_EQ(data_cost(volume, {}, layout, cluster).alone.time, seconds(0));
}

// Half of the reduction of 5 s, which errs by 10 %, is hidden, the gather of 4 s, which errs by 30
// %, is not: (2.5 * 0.1 + 4 * 0.3) / 6.5 = 0.223.
TEST(ExposedCost, ErrsAsItsPartsDo) {
  DataCost cost;
  cost.reduce = {seconds(5), 0.1, Provenance::measured};
  cost.gather = {seconds(4), 0.3, Provenance::datasheet};
  const Cost exposed = exposed_cost(cost, {seconds(2.5), seconds(4), {}, {}, {}, {}});
  EXPECT_EQ(exposed.time, seconds(6.5));
  EXPECT_NEAR(exposed.relative_spread, 0.2231, 1e-4);
  EXPECT_EQ(exposed.provenance, Provenance::datasheet);
}

TEST(DataOverlapOf, FsdpReducesBelowAPipelineWithNothingBeside) {
  Layout layout;
  layout.zero_stage = 3;
  layout.fsdp_unit = FsdpUnit::block;
  EXPECT_TRUE(data_overlap({}, layout, {}).reduce);
  layout.pipeline_parallel_size = 2;
  EXPECT_FALSE(data_overlap({}, layout, {}).reduce);
}

TEST(DataOverlapOf, ZeroThreeAlwaysPrefetches) {
  Layout layout;
  EXPECT_FALSE(data_overlap({}, layout, {}).forward_gather);
  layout.zero_stage = 3;
  EXPECT_TRUE(data_overlap({}, layout, {}).forward_gather);
  EXPECT_TRUE(data_overlap({}, layout, {}).backward_gather);
  EXPECT_FALSE(data_overlap({}, layout, {}).reduce);
}

TEST(DataOverlapOf, GradientsThatAllRanksSumAreReducedAloneAfterTheBackward) {
  Layout layout;
  layout.zero_stage = 1;
  layout.overlap_grad_reduce = layout.overlap_param_gather = true;
  EXPECT_TRUE(data_overlap({}, layout, {}).reduce);
  layout.all_reduce_gradients = true;
  EXPECT_FALSE(data_overlap({}, layout, {}).reduce);
  EXPECT_FALSE(data_overlap({}, layout, {}).gather);
}

// A GPT layer's 12 h^2: 3, 1, 4 and 4. Gathers and compute of 12 s each: beside 3 s of compute 1 s
// of gather, beside 1 s 4 s, then 4 and 4, and 4 and 3: 3 + 4 + 4 + 4 = 15 s. Nothing to gather, or
// to compute: the other's 12 s.
TEST(PrefetchedTime, HidesALinearsGatherBehindTheLinearBefore) {
  const std::array<double, kLinears> shares{3 / 12.0, 1 / 12.0, 4 / 12.0, 4 / 12.0};
  EXPECT_NEAR(prefetched_time(shares, seconds(12), seconds(12)).value(), 15, 1e-12);
  EXPECT_NEAR(prefetched_time(shares, seconds(12), seconds(0)).value(), 12, 1e-12);
  EXPECT_NEAR(prefetched_time(shares, seconds(0), seconds(12)).value(), 12, 1e-12);
}

TEST(LinearShares, OfAGptLayerAreThreeOneFourFour) {
  Model model;
  model.hidden_size = 64;
  model.ffn_hidden_size = 256;
  model.num_attention_heads = model.num_query_groups = 8;
  model.kv_channels = 8;
  model.activation = Activation::gelu;
  const std::array<double, kLinears> expected{3 / 12.0, 1 / 12.0, 4 / 12.0, 4 / 12.0};
  EXPECT_EQ(linear_shares(model), expected);
}

// 12 s of gathers next to 12 s of compute expose 15 - 12 s. Recompute adds 6 s of gathers: 18 s
// next to 12 s are max(3, 1.5) + max(1, 6) + max(4, 6) + max(4, 4.5) = 19.5 s.
TEST(ExposedData, GathersMoreWhereLayersRunAgain) {
  DataCost cost;
  cost.backward_gather.time = seconds(12);
  cost.recompute_gather.time = seconds(6);
  DataOverlap overlap{.forward_gather = true, .backward_gather = true};
  overlap.linears = {3 / 12.0, 1 / 12.0, 4 / 12.0, 4 / 12.0};
  EXPECT_NEAR(exposed_data(cost, overlap, {}, seconds(12), 1, false).total().value(), 3, 1e-12);
  EXPECT_NEAR(exposed_data(cost, overlap, {}, seconds(12), 1, true).total().value(), 7.5, 1e-12);
}

// 100e6 parameters in buckets of 40e6: the last one is 0.4 of them. With an embedding of 60e6,
// which is not cut, 0.6; fewer parameters than a bucket: all. No buckets known: nothing stands out.
TEST(LastBucket, HoldsABucketOrTheEmbedding) {
  EXPECT_DOUBLE_EQ(last_bucket_share(100e6, 0, 40e6), 0.4);
  EXPECT_DOUBLE_EQ(last_bucket_share(100e6, 60e6, 40e6), 0.6);
  EXPECT_DOUBLE_EQ(last_bucket_share(10e6, 5e6, 40e6), 1.0);
  EXPECT_DOUBLE_EQ(last_bucket_share(100e6, 60e6, 0), 0.0);
}

// Megatron-LM: max(40e6, 1e6 x data ranks).
TEST(LastBucket, BucketsGrowWithTheDataRanks) {
  DataParallelFacts facts;
  EXPECT_EQ(bucket_parameters(facts, 512), 0);
  facts.bucket_parameters = 40e6;
  EXPECT_EQ(bucket_parameters(facts, 512), 40e6);
  facts.bucket_parameters_per_rank = 1e6;
  EXPECT_EQ(bucket_parameters(facts, 8), 40e6);
  EXPECT_EQ(bucket_parameters(facts, 512), 512e6);
}

// Reduce 5 s, gather 4 s; a quarter of them has nothing beside it: 2.25 s, however long the
// compute.
TEST(LastBucket, IsWaitedForWhateverOverlaps) {
  DataCost cost;
  cost.reduce.time = seconds(5);
  cost.gather.time = seconds(4);
  wait_for_last_bucket(cost, 0.25);
  const DataOverlap overlap{.reduce = true, .gather = true};
  EXPECT_EQ(exposed_data(cost, overlap, seconds(99), seconds(99), 4, false).total(), seconds(2.25));
  EXPECT_EQ(exposed_data(cost, {}, seconds(99), seconds(99), 4, false).total(), seconds(9));
}

// Calls once per step after the reduction are no part of it: the sum of the norms' gradients over 8
// tensor ranks, that of the tied embedding over two stages, and the norm of all gradients.
TEST(DataCostOf, OnceAStepCallsComeAfterTheReduction) {
  Cluster cluster;
  cluster.num_nodes = 4;
  cluster.intra_node.bandwidth = gigabytes_per_second(450);
  cluster.inter_node.bandwidth = gigabytes_per_second(50);
  Layout layout{.tensor_parallel_size = 8, .pipeline_parallel_size = 2, .data_parallel_size = 2};
  layout.sequence_parallel = layout.overlap_grad_reduce = true;
  const auto transfer = [](std::string_view name, Group group, int size, bool overlappable) {
    Transfer t;
    t.name = name;
    t.group = group;
    t.collective = Collective::all_reduce;
    t.phase = Phase::step;
    t.group_size = size;
    t.times_per_step = 1;
    t.payload = mebibytes(64);
    t.overlappable = overlappable;
    return t;
  };
  const std::vector<Transfer> once{transfer("replicated", Group::tensor, 8, false),
                                   transfer("embedding", Group::embedding, 2, false),
                                   transfer("norm", Group::model, 16, false)};
  Seconds sum;
  for (const Transfer& call : once) sum += transfer_cost(call, layout, cluster).time;
  StageVolume volume;
  volume.transfers = once;
  volume.transfers.push_back(transfer("gradients", Group::data, 2, true));
  const DataCost cost = data_cost(volume, {}, layout, cluster);
  EXPECT_EQ(cost.after.time, sum);
  EXPECT_EQ(cost.reduce.time, transfer_cost(volume.transfers.back(), layout, cluster).time);
}

}  // namespace
}  // namespace meshwright
