// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/profile/device_spread.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

MeasuredPoint timed_product(std::int64_t m, double time) {
  MeasuredPoint p;
  p.subject = timed::Gemm{{.variant = {.shape = {1, m, 64, 64}}}};
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
  const Profile both =
      merged({profile_of({timed_product(1, 1.0)}), profile_of({timed_product(2, 2.0)})});
  EXPECT_EQ(both.points.size(), 2U);
  EXPECT_EQ(both.cluster.device.gemm.at(0).points.size(), 2U);
}

// 1 s and 4 s: 2 s, and ln(4) / 2 of spread.
TEST(Merge, WhatBothMeasuredIsTheGeometricMeanAndTheirDifferenceIsSpread) {
  const Profile both =
      merged({profile_of({timed_product(1, 1.0)}), profile_of({timed_product(1, 4.0)})});
  ASSERT_EQ(both.points.size(), 1U);
  const Summary& s = both.points[0].measurement.summary;
  EXPECT_DOUBLE_EQ(s.median.value(), 2.0);
  EXPECT_NEAR(s.relative_spread, std::log(4.0) / 2.0, 1e-12);
  EXPECT_EQ(s.min, seconds(1.0));
  EXPECT_EQ(s.p90, seconds(4.0));
  EXPECT_EQ(s.count, 10);
}

// 1 s with means of 1.1 and 1.05 s, and 4 s: 2 s with means of 2.2 and 2.1 s.
TEST(Merge, MeansStayAsFarAboveTheirMedian) {
  MeasuredPoint first = timed_product(1, 1.0);
  first.measurement.mean = seconds(1.1);
  first.measurement.rank_mean = seconds(1.05);
  const Profile both = merged({profile_of({first}), profile_of({timed_product(1, 4.0)})});
  EXPECT_DOUBLE_EQ(both.points.at(0).measurement.mean.value(), 2.2);
  EXPECT_DOUBLE_EQ(both.points.at(0).measurement.rank_mean.value(), 2.1);
}

TEST(Merge, AProfileWithItselfKeepsItsTimes) {
  const Profile one = profile_of({timed_product(1, 1.0), timed_product(2, 3.0)});
  const Profile both = merged({one, one});
  ASSERT_EQ(both.points.size(), 2U);
  EXPECT_DOUBLE_EQ(both.points[1].time().value(), 3.0);
}

TEST(Merge, WhatOneMeasuredIsNoLongerMissing) {
  Profile a = profile_of({timed_product(1, 1.0)});
  Profile b = profile_of({});
  a.not_measured = {"kernel softmax", "kernel adam"};
  b.not_measured = {"products in fp32", "kernel adam"};
  EXPECT_THAT(merged({a, b}).not_measured, testing::ElementsAre("kernel softmax", "kernel adam"));
}

TEST(Merge, RanksOfTheSecondCountOn) {
  const Profile both = merged({profile_of({}), profile_of({}, "b")});
  ASSERT_EQ(both.ranks.size(), 4U);
  EXPECT_EQ(both.ranks[2].rank, 2);
  EXPECT_EQ(both.ranks[2].host, "b");
}

// 1, 2 and 4 s: 2 s; the logarithms' standard deviation is ln(2) sqrt(2/3). Pair by pair the last
// profile would count as much as all before it.
TEST(Merge, ManyNodesCountTheSame) {
  const Profile all =
      merged({profile_of({timed_product(1, 1.0)}), profile_of({timed_product(1, 2.0)}),
              profile_of({timed_product(1, 4.0)})});
  const Summary& s = all.points.at(0).measurement.summary;
  EXPECT_DOUBLE_EQ(s.median.value(), 2.0);
  EXPECT_NEAR(s.relative_spread, std::log(2.0) * std::sqrt(2.0 / 3.0), 1e-12);
  EXPECT_EQ(s.count, 15);
}

TEST(Merge, ProfilesOntoDifferentClustersAreRefused) {
  Profile other = profile_of({});
  other.onto = "h100-8";
  EXPECT_THROW(merged({profile_of({}), other}), InputError);
}

// Node a: 1 s by its slowest device, whose time is the median's, 1.00: all of a at 1 s. Node b: 1.1
// s by its slowest, 1.10 times the median's: its other device takes 1 s, too.
TEST(DeviceSpread, ComparesDevicesOverAllNodes) {
  Profile a = profile_of({timed_product(1, 1.0)}), b = profile_of({timed_product(1, 1.1)}, "b");
  for (RankSpeed& rank : a.ranks) rank.gemm = 1.0;
  b.ranks[0].gemm = 1.0;
  b.ranks[1].gemm = 1.1;
  const auto spread = spread_between_devices({a, b});
  ASSERT_TRUE(spread);
  ASSERT_EQ(spread->relative_times.size(), 4U);
  EXPECT_NEAR(spread->relative_times[0], spread->relative_times[2], 1e-12);
  EXPECT_NEAR(spread->relative_times[3] / spread->relative_times[0], 1.1, 1e-12);
  EXPECT_EQ(spread->slowest, "number 1 on b");
  // Logarithms 0, 0, 0 and ln 1.1: mean ln(1.1) / 4, standard deviation ln(1.1) / 2.
  EXPECT_NEAR(spread->sigma, std::log(1.1) / 2.0, 1e-12);
  EXPECT_THAT(spread->sentence(), testing::HasSubstr("4 devices differ by 4.8 %"));
}

TEST(DeviceSpread, TwoDevicesSayNothing) {
  Profile one = profile_of({timed_product(1, 1.0)});
  for (RankSpeed& rank : one.ranks) rank.gemm = 1.0;
  EXPECT_FALSE(spread_between_devices({one}));
}

TEST(Merge, OtherDevicesAreRefused) {
  Profile other = profile_of({});
  other.cluster.device.name = "another core";
  EXPECT_THROW(merged({profile_of({}), other}), InputError);
}

}  // namespace
}  // namespace meshwright::calibrate
