// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/drift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace meshwright::calibrate {
namespace {

using ::testing::HasSubstr;

MeasuredPoint spread_product(std::int64_t m, double time, double spread = 0.01) {
  MeasuredPoint p;
  p.subject = timed::Gemm{{.variant = {.shape = {1, m, 64, 64}}}};
  p.amount = bytes(1);
  p.measurement.summary.median = seconds(time);
  p.measurement.summary.relative_spread = spread;
  return p;
}

MeasuredPoint reduction(double payload, double time) {
  MeasuredPoint p = spread_product(0, time);
  p.subject = timed::CollectiveCall{{.group_size = 2, .ranks_per_node = 2, .groups_per_node = 1}};
  p.amount = bytes(payload);
  return p;
}

// 40 products and 3 all-reduces: every tenth (0, 10, 20, 30, 40) and two of each group at least:
// product 1 and the all-reduces at 40 and 41.
TEST(DriftSample, IsATenthAndSomeOfEachGroup) {
  std::vector<MeasuredPoint> points;
  for (int m = 0; m < 40; ++m) points.push_back(spread_product(m, 1.0));
  for (int i = 0; i < 3; ++i) points.push_back(reduction(1024.0 * (i + 1), 1.0));
  const auto sample = drift_sample(points);
  ASSERT_EQ(sample.size(), 7U);
  EXPECT_EQ(product_of(sample[1].subject)->variant.shape.m, 1);
  EXPECT_EQ(product_of(sample[4].subject)->variant.shape.m, 30);
  EXPECT_EQ(sample[6].amount, bytes(2048));
}

TEST(DriftSample, PointsOfOtherToolsAreNotAskedForAgain) {
  MeasuredPoint imported = spread_product(1, 1.0);
  imported.source = "nccl-tests, log.txt";
  EXPECT_TRUE(drift_sample({imported}).empty());
}

TEST(Drift, TheSameTimesHold) {
  const std::vector<MeasuredPoint> points{spread_product(1, 1.0), spread_product(2, 2.0)};
  const DriftReport report = compare_points(points, points, 0.15);
  EXPECT_TRUE(report.holds());
  EXPECT_THAT(report.sentence(), HasSubstr("still holds: 2 points in 1 groups"));
}

// Ratios 1.2 and 1.3: geometric mean sqrt(1.56) = 1.249. Noise: four spreads of 1 % over two pairs:
// 3 * sqrt(2 * 2 * 0.01^2 / 4) = 3 %.
TEST(Drift, WhatDriftedIsNamedWithItsSize) {
  const DriftReport report =
      compare_points({spread_product(1, 1.0), spread_product(2, 1.0), reduction(4096, 1.0)},
                     {spread_product(1, 1.2), spread_product(2, 1.3), reduction(4096, 1.0)}, 0.15);
  EXPECT_FALSE(report.holds());
  EXPECT_THAT(report.sentence(), HasSubstr("gemm fp32 is 25 % slower (2 points, noise 3 %)"));
  EXPECT_THAT(report.sentence(), Not(HasSubstr("all_reduce")));
}

// 30 % slower, and each time is only known to 20 %: 3 * sqrt(2) * 20 % = 85 %.
TEST(Drift, NoiseIsNotDrift) {
  EXPECT_TRUE(
      compare_points({spread_product(1, 1.0, 0.2)}, {spread_product(1, 1.3, 0.2)}, 0.15).holds());
}

// Half the time is twice as fast, and the profile no longer holds.
TEST(Drift, AFasterMachineHasDriftedToo) {
  const DriftReport report =
      compare_points({spread_product(1, 1.0)}, {spread_product(1, 0.5)}, 0.15);
  EXPECT_THAT(report.sentence(), HasSubstr("gemm fp32 is 100 % faster"));
}

}  // namespace
}  // namespace meshwright::calibrate
