// SPDX-License-Identifier: Apache-2.0
#include "calibrate/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

SweepLimits one_core() { return {.memory = gibibytes(8), .budget_seconds = 600.0}; }

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
  const auto points = planned_points(workload, {}, one_core());
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
  const auto points = planned_points(workload, {}, one_core());
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
  const auto points = planned_points(workload, group_shapes({0, 0}), one_core());
  EXPECT_LT(position(points, "all_reduce 3 MiB over 2 ranks"),
            position(points, "gemm fp32 (512 x 512 x 1024)"));
}

TEST(Sweep, EachPointIsPlannedOnce) {
  const auto points = planned_points({}, group_shapes({0, 0, 1, 1}), one_core());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      ASSERT_FALSE(same_subject(points[i], points[j])) << points[i].label();
    }
  }
}

// 512^3 products take 2.7 ms at 1e11 FLOP/s; 2048^3 would take 0.17 s, more than a hundredth of 2 s
// at half that rate.
TEST(Sweep, AShortBudgetHasNoLargeProducts) {
  SweepLimits limits = one_core();
  limits.budget_seconds = 2.0;
  for (const MeasuredPoint& p : planned_points({}, {}, limits)) {
    EXPECT_LE(p.kind == PointKind::gemm ? gemm_flops(p.shape) : flops(0), flops(1e9)) << p.label();
  }
}

// y (m x n) = x (m x k) w (k x n); dx (m x k) = dy w^T; dw (k x n) = x^T dy.
TEST(Sweep, TrainingRunsThreeProductsOfAWeight) {
  const auto variants = training_variants({1, 10, 20, 30});
  EXPECT_EQ(variants[0], (GemmVariant{.shape = {1, 10, 20, 30}}));
  EXPECT_EQ(variants[1], (GemmVariant{.shape = {1, 10, 30, 20}, .transpose_b = true}));
  EXPECT_EQ(variants[2],
            (GemmVariant{.shape = {1, 30, 20, 10}, .transpose_a = true, .accumulate = true}));
}

}  // namespace
}  // namespace meshwright::calibrate
