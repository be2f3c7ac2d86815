// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/holdout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

// Times proportional to the payload lie on a straight line in log-log, but for one of five.
Cluster with_outlier(double factor, double spread) {
  Cluster c;
  c.gpus_per_node = 2;
  CollectiveCurve curve{Collective::all_reduce, 2, {}};
  for (const double payload : {1e3, 2e3, 4e3, 8e3, 16e3}) {
    curve.points.push_back({bytes(payload), seconds(payload * 1e-9), spread});
  }
  curve.points[3].time *= factor;
  c.intra_node.curves.push_back(curve);
  return c;
}

TEST(Holdout, AStraightCurvePredictsItself) {
  const Holdout h = hold_out_half(with_outlier(1.0, 0.01), Tier::intra_node);
  EXPECT_EQ(h.predicted, 2);
  EXPECT_EQ(h.within_noise, 2);
  EXPECT_NEAR(h.p90_error, 0.0, 1e-9);
}

// The fourth point takes 1.25 times as long: predicted 1 / 1.25 - 1 = -20 %, of the two points the
// median error is 10 %. Noise 2 * hypot(1 %, 1 %) = 2.8 %.
TEST(Holdout, AKneeIsSeenWithItsError) {
  const Holdout h = hold_out_half(with_outlier(1.25, 0.01), Tier::intra_node);
  EXPECT_NEAR(h.median_error, 0.1, 1e-9);
  EXPECT_EQ(h.within_noise, 1);
  EXPECT_NEAR(h.median_noise, 2.0 * 0.01414214, 1e-7);
  EXPECT_THAT(h.sentence(),
              testing::HasSubstr("predict the other 2 with a median error of 10.0 %"));
}

// Known to 10 % only: 2 * hypot(10 %, 10 %) = 28 %.
TEST(Holdout, ANoisyKneeIsWithinTheNoise) {
  EXPECT_EQ(hold_out_half(with_outlier(1.25, 0.1), Tier::intra_node).within_noise, 2);
}

TEST(Holdout, WithoutCurvesThereIsNothingToPredict) {
  EXPECT_EQ(hold_out_half(Cluster{}, Tier::inter_node).predicted, 0);
}

}  // namespace
}  // namespace meshwright::calibrate
