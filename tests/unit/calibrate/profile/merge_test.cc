// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

MeasuredPoint product(std::int64_t m, double time) {
  MeasuredPoint p;
  p.shape = {1, m, 64, 64};
  p.amount = bytes(1);
  p.measurement.summary = {.median = seconds(time),
                           .min = seconds(time),
                           .p10 = seconds(time),
                           .p90 = seconds(time),
                           .count = 5};
  return p;
}

Profile profile_of(std::vector<MeasuredPoint> points, const std::string& host = "a") {
  Profile profile;
  profile.created = "2026-01-01T00:00:00Z";
  profile.machine.host = host;
  profile.cluster.device.name = "core";
  profile.cluster.device.kind = DeviceKind::cpu;
  profile.cluster.gpus_per_node = 2;
  profile.points = std::move(points);
  profile.ranks = {{.rank = 0, .host = host}, {.rank = 1, .local_rank = 1, .host = host}};
  return profile;
}

TEST(Merge, WhatEitherMeasuredIsThere) {
  const Profile both = merged(profile_of({product(1, 1.0)}), profile_of({product(2, 2.0)}));
  EXPECT_EQ(both.points.size(), 2U);
  EXPECT_EQ(both.cluster.device.gemm.at(0).points.size(), 2U);
}

// 1 s and 4 s: 2 s, and ln(4) / 2 of spread.
TEST(Merge, WhatBothMeasuredIsTheGeometricMeanAndTheirDifferenceIsSpread) {
  const Profile both = merged(profile_of({product(1, 1.0)}), profile_of({product(1, 4.0)}));
  ASSERT_EQ(both.points.size(), 1U);
  const Summary& s = both.points[0].measurement.summary;
  EXPECT_DOUBLE_EQ(s.median.value(), 2.0);
  EXPECT_NEAR(s.relative_spread, std::log(4.0) / 2.0, 1e-12);
  EXPECT_EQ(s.min, seconds(1.0));
  EXPECT_EQ(s.p90, seconds(4.0));
  EXPECT_EQ(s.count, 10);
}

TEST(Merge, AProfileWithItselfKeepsItsTimes) {
  const Profile one = profile_of({product(1, 1.0), product(2, 3.0)});
  const Profile both = merged(one, one);
  ASSERT_EQ(both.points.size(), 2U);
  EXPECT_DOUBLE_EQ(both.points[1].time().value(), 3.0);
}

TEST(Merge, WhatOneMeasuredIsNoLongerMissing) {
  Profile a = profile_of({product(1, 1.0)});
  Profile b = profile_of({});
  a.not_measured = {"kernel softmax", "kernel adam"};
  b.not_measured = {"products in fp32", "kernel adam"};
  EXPECT_THAT(merged(a, b).not_measured, testing::ElementsAre("kernel softmax", "kernel adam"));
}

TEST(Merge, RanksOfTheSecondCountOn) {
  const Profile both = merged(profile_of({}), profile_of({}, "b"));
  ASSERT_EQ(both.ranks.size(), 4U);
  EXPECT_EQ(both.ranks[2].rank, 2);
  EXPECT_EQ(both.ranks[2].host, "b");
}

TEST(Merge, OtherDevicesAreRefused) {
  Profile other = profile_of({});
  other.cluster.device.name = "another core";
  EXPECT_THROW(merged(profile_of({}), other), InputError);
}

}  // namespace
}  // namespace meshwright::calibrate
