// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/load_curve.h"

#include <gtest/gtest.h>

namespace meshwright::planner {
namespace {

LoadCurve two_points(CurveShape shape) {
  LoadCurve curve;
  curve.points = {{6.0, 2.0}, {18.0, 8.0}};
  curve.between = shape;
  return curve;
}

// From 6 to 18 h the rate rises by 6 in 12 hours: at 8 h it is 2 + 6 x 2 / 12 = 3. From 18 h to
// 6 h of the next day it falls by 6 in 12 hours: at midnight it is 8 - 6 x 6 / 12 = 5.
TEST(LoadCurve, LinearRatesLieBetweenThePoints) {
  const LoadCurve curve = two_points(CurveShape::linear);
  EXPECT_DOUBLE_EQ(rate_at(curve, 8.0), 3.0);
  EXPECT_DOUBLE_EQ(rate_at(curve, 0.0), 5.0);
  EXPECT_DOUBLE_EQ(rate_at(curve, 24.0), 5.0);
  EXPECT_DOUBLE_EQ(rate_at(curve, 6.0), 2.0);
}

// Before its first point the curve has the rate of the day before.
TEST(LoadCurve, AStepHoldsUntilTheNext) {
  const LoadCurve curve = two_points(CurveShape::steps);
  EXPECT_DOUBLE_EQ(rate_at(curve, 17.9), 2.0);
  EXPECT_DOUBLE_EQ(rate_at(curve, 18.0), 8.0);
  EXPECT_DOUBLE_EQ(rate_at(curve, 3.0), 8.0);
  EXPECT_DOUBLE_EQ(rate_at(curve, -1.0), 8.0);
}

// Hour 8 rises from 3.0 to 3.5: mean 3.25, largest 3.5.
TEST(LoadCurve, AnHourHasItsMeanAndItsPeak) {
  const HourLoad load = load_of_hour(two_points(CurveShape::linear), 8);
  EXPECT_DOUBLE_EQ(load.mean, 3.25);
  EXPECT_DOUBLE_EQ(load.peak, 3.5);
}

// A peak of 10 at 9:30 between 0 at 9:00 and 0 at 10:00: the mean is 10 / 2.
TEST(LoadCurve, APeakInsideAnHourCounts) {
  LoadCurve curve;
  curve.points = {{9.0, 0.0}, {9.5, 10.0}, {10.0, 0.0}};
  curve.between = CurveShape::linear;
  const HourLoad load = load_of_hour(curve, 9);
  EXPECT_DOUBLE_EQ(load.peak, 10.0);
  EXPECT_DOUBLE_EQ(load.mean, 5.0);
}

TEST(LoadCurve, RatesAreOneAnHour) {
  LoadCurve curve;
  for (int hour = 0; hour < kHoursOfADay; ++hour) {
    curve.requests_per_second.push_back(static_cast<double>(hour));
  }
  const std::vector<HourLoad> loads = hourly_load(curve);
  ASSERT_EQ(loads.size(), 24U);
  EXPECT_DOUBLE_EQ(loads[7].mean, 7.0);
  EXPECT_DOUBLE_EQ(loads[7].peak, 7.0);
  EXPECT_DOUBLE_EQ(peak_rate(curve), 23.0);
  curve.between = CurveShape::linear;  // from 23 at hour 23 back to 0 at midnight
  EXPECT_DOUBLE_EQ(load_of_hour(curve, 23).mean, 11.5);
}

}  // namespace
}  // namespace meshwright::planner
