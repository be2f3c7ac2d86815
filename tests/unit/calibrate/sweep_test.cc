// SPDX-License-Identifier: Apache-2.0
#include "calibrate/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace meshwright::calibrate {
namespace {

using ::testing::ElementsAre;

TEST(Sweep, PayloadsDoubleFromOneKibibyte) {
  EXPECT_THAT(payloads(kibibytes(4)), ElementsAre(kibibytes(1), kibibytes(2), kibibytes(4)));
  EXPECT_EQ(payloads(mebibytes(64)).size(), 17U);  // 2^10 .. 2^26
}

// 1 KiB over 3 ranks is 85 numbers for each; over 512 ranks each still has one.
TEST(Sweep, EveryRankHasAWholeNumberOfElementsAndNeverNone) {
  EXPECT_EQ(whole_payload(kibibytes(1), 3), bytes(4.0 * 85 * 3));
  EXPECT_EQ(whole_payload(kibibytes(1), 512), bytes(4.0 * 512));
}

SweepLimits limits_of_one_core() { return {.memory = gibibytes(8), .budget_seconds = 600.0}; }

std::size_t position(const std::vector<MeasuredPoint>& points, const std::string& label) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].label() == label) return i;
  }
  ADD_FAILURE() << label << " is not there";
  return points.size();
}

// 3 calls of 2 * 64^3 are more than 2 calls of 2 * 72 * 64 * 64 (3 * 64 > 2 * 72); together they
// come before the general grid.
TEST(Sweep, WhatWeighsMostInAStepComesFirst) {
  Workload workload;
  workload.precisions = {Precision::fp32};
  workload.gemms = {{{.shape = {1, 72, 64, 64}}, 2.0}, {{.shape = {1, 64, 64, 64}}, 3.0}};
  const auto points = planned_points(workload, {}, limits_of_one_core());
  EXPECT_LT(position(points, "gemm fp32 (64 x 64 x 64)"),
            position(points, "gemm fp32 (72 x 64 x 64)"));
  EXPECT_LT(position(points, "gemm fp32 (72 x 64 x 64)"),
            position(points, "gemm fp32 (2048 x 2048 x 512)"));
}

// The same shape twice, 2 calls each, weighs as much as 4 calls: more than 3 of the same size.
TEST(Sweep, CallsOfTheSameShapeAddUp) {
  Workload workload;
  workload.precisions = {Precision::fp32};
  workload.gemms = {{{.shape = {1, 64, 32, 64}}, 3.0},
                    {{.shape = {1, 64, 64, 32}}, 2.0},
                    {{.shape = {1, 64, 64, 32}}, 2.0}};
  const auto points = planned_points(workload, {}, limits_of_one_core());
  EXPECT_LT(position(points, "gemm fp32 (64 x 64 x 32)"),
            position(points, "gemm fp32 (64 x 32 x 64)"));
}

// A model's 3 MiB all-reduce, 100 calls, at 2 GB/s and 10 us a call: 0.16 s. One product of
// 2 * 512 * 512 * 1024 FLOPs at 1e11 FLOP/s: 5 ms.
TEST(Sweep, AModelsCollectivesAreOrderedAmongItsProducts) {
  Workload workload;
  workload.precisions = {Precision::fp32};
  workload.gemms = {{{.shape = {1, 512, 512, 1024}}, 1.0}};
  workload.collectives = {{Collective::all_reduce, 2, mebibytes(3), 100.0}};
  const auto points = planned_points(workload, group_shapes({0, 0}), limits_of_one_core());
  EXPECT_LT(position(points, "all_reduce 3 MiB over 2 ranks"),
            position(points, "gemm fp32 (512 x 512 x 1024)"));
}

SweepLimits one_gpu(double budget = 300.0) {
  return {.memory = gibibytes(79), .device = DeviceKind::gpu, .budget_seconds = budget};
}

Workload in(std::vector<Precision> precisions) {
  Workload workload;
  workload.precisions = std::move(precisions);
  return workload;
}

// 16 bits are what fp8 jobs run attention, the router and the output layer in.
TEST(Sweep, TheJobsNumberFormatAndSixteenBitsAreMeasured) {
  using enum Precision;
  EXPECT_THAT(measured_precisions(in({fp8}), one_gpu()), ElementsAre(fp8, bf16));
  EXPECT_THAT(measured_precisions(in({fp16}), one_gpu()), ElementsAre(fp16, bf16));
  EXPECT_THAT(measured_precisions(in({tf32}), one_gpu()), ElementsAre(tf32, bf16));
  EXPECT_THAT(measured_precisions(in({bf16}), one_gpu()), ElementsAre(bf16));
  EXPECT_THAT(measured_precisions({}, one_gpu()), ElementsAre(bf16, fp8));
  EXPECT_THAT(measured_precisions(in({bf16}), limits_of_one_core()), ElementsAre(bf16, fp32));
}

TEST(Sweep, WhatADeviceCannotMultiplyIsStoodInForByWhatItCan) {
  using enum Precision;
  SweepLimits blackwell = one_gpu();
  blackwell.supports = [](Precision p) { return p != fp4; };
  EXPECT_THAT(measured_precisions(in({fp4}), blackwell), ElementsAre(bf16, fp8));
  SweepLimits ampere = one_gpu();
  ampere.supports = [](Precision p) { return p != fp4 && p != fp8; };
  EXPECT_THAT(measured_precisions({}, ampere), ElementsAre(bf16));
}

template <typename T>
std::vector<MeasuredPoint> planned(const SweepLimits& limits) {
  std::vector<MeasuredPoint> points = planned_points({}, {}, limits);
  std::erase_if(points, [](const MeasuredPoint& p) { return !p.is<T>(); });
  return points;
}

// 8192^3 of each format, and the same in a burst beside it.
TEST(Sweep, AGpusLargestProductsAreSustainedToo) {
  const auto sustained = planned<timed::SustainedGemm>(one_gpu());
  ASSERT_EQ(sustained.size(), 2U);
  for (MeasuredPoint p : sustained) {
    const Product product = *product_of(p.subject);
    const GemmShape& shape = product.variant.shape;
    EXPECT_EQ(shape.m * shape.n * shape.k, std::int64_t{8192} * 8192 * 8192);
    p.subject = timed::Gemm{product};
    const auto bursts = planned<timed::Gemm>(one_gpu());
    EXPECT_TRUE(std::any_of(bursts.begin(), bursts.end(),
                            [&](const MeasuredPoint& b) { return same_subject(b, p); }));
  }
  EXPECT_TRUE(planned<timed::SustainedGemm>(one_gpu(10.0)).empty());
  EXPECT_TRUE(planned<timed::SustainedGemm>(limits_of_one_core()).empty());
}

TEST(Sweep, AGpusHostLinkIsMeasuredInBothDirectionsAloneAndTogether) {
  const auto links = planned<timed::HostLink>(one_gpu());
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[0].as<timed::HostLink>()->direction, HostDirection::to_device);
  EXPECT_EQ(links[1].as<timed::HostLink>()->direction, HostDirection::to_host);
  EXPECT_EQ(links[2].as<timed::HostLink>()->direction, HostDirection::both);
  EXPECT_EQ(planned<timed::HostLink>(limits_of_one_core()).size(), 1U);
}

// Messages of the grid and of a model are cold if they are so large that other data replace them in
// the cache before a step uses them again. Next to GEMMs a message is one of many.
TEST(Sweep, LargeMessagesAreMetInMemory) {
  Workload workload;
  workload.collectives = {{Collective::all_reduce, 2, mebibytes(3), 2.0},
                          {Collective::all_reduce, 2, kibibytes(96), 100.0}};
  int cold = 0, warm = 0;
  for (const MeasuredPoint& p :
       planned_points(workload, group_shapes({0, 0}), limits_of_one_core())) {
    const auto* collective = p.as<timed::CollectiveCall>();
    if (collective == nullptr) continue;
    EXPECT_EQ(collective->call.cold, p.amount >= kibibytes(256)) << p.label();
    (collective->call.cold ? cold : warm) += 1;
  }
  EXPECT_GT(cold, 0);
  EXPECT_GT(warm, 0);
}

template <typename T>
std::vector<MeasuredPoint> planned_on_four_gpus() {
  std::vector<MeasuredPoint> points = planned_points({}, group_shapes({0, 0, 0, 0}), one_gpu());
  std::erase_if(points, [](const MeasuredPoint& p) { return !p.is<T>(); });
  return points;
}

// Four GPUs: beside products run collectives of all four, and of two pairs at once.
TEST(Sweep, OverlapIsMeasuredForTensorGroupsAndForEachCollectiveOfGradientsAndExperts) {
  const auto points = planned_on_four_gpus<timed::Overlap>();
  const auto count = [&](int size, Collective collective) {
    return std::count_if(points.begin(), points.end(), [&](const MeasuredPoint& p) {
      const GroupCall& call = *call_of(p.subject);
      return call.group_size == size && call.collective == collective;
    });
  };
  for (const Collective c : {Collective::all_reduce, Collective::reduce_scatter,
                             Collective::all_gather, Collective::all_to_all}) {
    EXPECT_GE(count(4, c), 1) << name_of(c);
    EXPECT_GE(count(2, c), 1) << name_of(c);
  }
  EXPECT_EQ(count(4, Collective::broadcast), 0);
}

// 4096^3, one of few rows, and one with long sums; copies each way beside each of them.
TEST(Sweep, OverlapIsMeasuredBesideSeveralProductsAndForCopiesToo) {
  std::set<std::int64_t> rows;
  for (const MeasuredPoint& p : planned_on_four_gpus<timed::Overlap>()) {
    if (call_of(p.subject)->group_size == 4) rows.insert(product_of(p.subject)->variant.shape.m);
  }
  EXPECT_THAT(rows, ElementsAre(512, 2048, 4096));
  std::set<std::int64_t> up, down;
  for (const MeasuredPoint& p : planned_on_four_gpus<timed::CopyOverlap>()) {
    const bool to_device = p.as<timed::CopyOverlap>()->direction == HostDirection::to_device;
    (to_device ? up : down).insert(product_of(p.subject)->variant.shape.m);
  }
  EXPECT_EQ(up, rows);
  EXPECT_EQ(down, rows);
  EXPECT_TRUE(planned<timed::CopyOverlap>(limits_of_one_core()).empty());
}

TEST(Sweep, OnlyAGpusHostLaunchesAheadOfItsDevice) {
  EXPECT_EQ(planned<timed::HostLaunch>(one_gpu()).size(), 1U);
  EXPECT_TRUE(planned<timed::HostLaunch>(limits_of_one_core()).empty());
}

TEST(Sweep, EachPointIsPlannedOnce) {
  const auto points = planned_points({}, group_shapes({0, 0, 1, 1}), limits_of_one_core());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      ASSERT_FALSE(same_subject(points[i], points[j])) << points[i].label();
    }
  }
}

// 512^3 products take 2.7 ms at 1e11 FLOP/s; 2048^3 would take 0.17 s, more than a hundredth of 2 s
// at half that rate.
TEST(Sweep, AShortBudgetHasNoLargeProducts) {
  SweepLimits limits = limits_of_one_core();
  limits.budget_seconds = 2.0;
  for (const MeasuredPoint& p : planned_points({}, {}, limits)) {
    const auto* gemm = p.as<timed::Gemm>();
    const Flops work = gemm ? gemm_flops(gemm->product.variant.shape) : flops(0);
    EXPECT_LE(work, flops(1e9)) << p.label();
  }
}

// y (m x n) = x (m x k) w (k x n); dx (m x k) = dy w^T; dw (k x n) = x^T dy. x and dy were just
// made where they are read first, dx is written over soon; weights, what is saved and gradients of
// weights wait for a micro-batch.
TEST(Sweep, TrainingRunsThreeProductsOfAWeight) {
  const auto variants = training_variants({1, 10, 20, 30});
  EXPECT_EQ(variants[0], (GemmVariant{.shape = {1, 10, 20, 30}, .fresh = {.a = true}}));
  EXPECT_EQ(variants[1],
            (GemmVariant{
                .shape = {1, 10, 30, 20}, .transpose_b = true, .fresh = {.a = true, .c = true}}));
  EXPECT_EQ(variants[2], (GemmVariant{.shape = {1, 30, 20, 10},
                                      .transpose_a = true,
                                      .accumulate = true,
                                      .fresh = {.b = true}}));
}

// Scores (m x n) = q (m x k) k^T; dq (m x k) = dS k; dk (n x k) = dS^T q.
TEST(Sweep, TrainingRunsThreeProductsOfScores) {
  const auto variants = training_variants({8, 10, 20, 30}, GemmOperand::transposed_activation);
  EXPECT_EQ(variants[1].shape, (GemmShape{8, 10, 30, 20}));
  EXPECT_EQ(variants[2].shape, (GemmShape{8, 20, 30, 10}));
  EXPECT_TRUE(variants[2].transpose_a);
}

// 2 calls of 2 * 64^3 and 1 of 2 * 64 * 64 * 128: half of the step each; the grid's points none.
TEST(Sweep, SharesOfAStepAreThoseOfTheCalls) {
  Workload workload;
  workload.precisions = {Precision::fp32};
  workload.gemms = {{{.shape = {1, 64, 64, 64}}, 2.0}, {{.shape = {1, 64, 64, 128}}, 1.0}};
  const auto points = planned_points(workload, {}, limits_of_one_core());
  const std::vector<double> shares = step_shares(workload, points, DeviceKind::cpu);
  EXPECT_DOUBLE_EQ(shares[position(points, "gemm fp32 (64 x 64 x 64)")], 0.5);
  EXPECT_DOUBLE_EQ(shares[position(points, "gemm fp32 (64 x 64 x 128)")], 0.5);
  EXPECT_DOUBLE_EQ(shares[position(points, "gemm fp32 (2048 x 2048 x 512)")], 0.0);
}

}  // namespace
}  // namespace meshwright::calibrate
