// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/fit_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

using ::testing::HasSubstr;

// Two ranks, 2 us a step and 1e9 B/s: an all-reduce of S takes 4 us + S / 1e9.
Cluster cluster_with(double factor) {
  Cluster c;
  c.gpus_per_node = 2;
  c.intra_node.latency = microseconds(2);
  c.intra_node.bandwidth = bytes_per_second(1e9);
  c.intra_node.bandwidth_fraction = 1.0;
  CollectiveCurve curve{Collective::all_reduce, 2, {}};
  for (const double payload : {1e6, 1e3}) {
    curve.points.push_back({bytes(payload), seconds(factor * (4e-6 + payload / 1e9)), 0.02});
  }
  c.intra_node.curves.push_back(curve);
  return c;
}

TEST(FitCheck, PointsOnTheModelHaveNoResidual) {
  const auto checks = check_fits(cluster_with(1.0));
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_NEAR(checks[0].residual_spread, 0.0, 1e-9);
  EXPECT_TRUE(checks[0].describes());
  EXPECT_DOUBLE_EQ(checks[0].points[0].x, 1e3);  // sorted
  EXPECT_THAT(checks[0].sentence(),
              HasSubstr("within 0 % of 2 points, which themselves spread 2 %"));
}

// All points twice as long: residual 1, spread ln 2 = 69 %.
TEST(FitCheck, AModelThatMissesItsPointsSaysSo) {
  const FitCheck check = check_fits(cluster_with(2.0)).at(0);
  EXPECT_NEAR(check.points[0].residual(), 1.0, 1e-9);
  EXPECT_FALSE(check.describes());
  EXPECT_THAT(check.sentence(), HasSubstr("within 69 %"));
  EXPECT_THAT(check.sentence(), HasSubstr("does not describe them"));
}

// A model 30 % off points that are known to 15 % only is not refuted.
TEST(FitCheck, NoisyPointsAskLess) {
  Cluster c = cluster_with(1.3);
  for (CollectivePoint& p : c.intra_node.curves[0].points) p.relative_spread = 0.15;
  EXPECT_TRUE(check_fits(c).at(0).describes());
}

}  // namespace
}  // namespace meshwright::calibrate
