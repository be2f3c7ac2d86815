// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/shared_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/shared_cluster/smallest_cluster.h"

namespace meshwright::planner {
namespace {

using testing::ElementsAre;

TEST(TrainingCounts, RoundCountsAreTwosAndThrees) {
  EXPECT_THAT(round_counts(13), ElementsAre(1, 2, 3, 4, 6, 8, 12));
  EXPECT_THAT(round_counts(1), ElementsAre(1));
  EXPECT_TRUE(round_counts(0).empty());
}

// Two spare nodes of eight GPUs are two hosts of 8, four of 4, and one of 16.
TEST(TrainingCounts, SparesTakeWholeHosts) {
  EXPECT_EQ(hosts_of_spares(2, 8), 2);
  EXPECT_EQ(hosts_of_spares(2, 4), 4);
  EXPECT_EQ(hosts_of_spares(2, 16), 1);
  EXPECT_EQ(hosts_of_spares(0, 8), 0);
}

// Half the day on a count that takes 10 days, half on one that takes 30: a day trains
// 12 / (24 x 10) + 12 / (24 x 30) = 0.05 + 0.016667 = 0.066667 of the run: 15 days.
TEST(SharedRun, ElasticDaysAddTheSharesOfTheHours) {
  std::vector<ElasticHour> hours(12, {10.0, 0.0});
  hours.insert(hours.end(), 12, {30.0, 0.0});
  EXPECT_NEAR(elastic_days(hours).value(), 15.0, 1e-12);
}

// Two of 24 hours lose half an hour each: a day trains 23 / 24 of what it would.
TEST(SharedRun, AChangeOfTheCountLosesItsTime) {
  std::vector<ElasticHour> hours(24, {10.0, 0.0});
  EXPECT_NEAR(elastic_days(hours).value(), 10.0, 1e-12);
  hours[3].lost_hours = hours[9].lost_hours = 0.5;
  EXPECT_NEAR(elastic_days(hours).value(), 10.0 * 24.0 / 23.0, 1e-12);
}

// A change of an hour and a half at the last hour takes it whole, and half of the first one.
TEST(SharedRun, AChangeLongerThanAnHourContinuesInTheNext) {
  EXPECT_THAT(lost_by_hour({0.0, 0.25, 0.0, 1.5}), ElementsAre(0.5, 0.25, 0.0, 1.0));
  EXPECT_THAT(lost_by_hour({0.75, 0.75, 0.0, 0.0}), ElementsAre(0.75, 0.75, 0.0, 0.0));
  EXPECT_THAT(lost_by_hour({2.5, 0.0, 0.0, 0.0}), ElementsAre(1.0, 1.0, 0.5, 0.0));
  // Five hours of changes in a period of four: nothing is trained.
  EXPECT_THAT(lost_by_hour({5.0, 0.0, 0.0, 0.0}), ElementsAre(1.0, 1.0, 1.0, 1.0));
  EXPECT_TRUE(lost_by_hour({}).empty());
}

// Six hours a day take four times as long; no hour takes forever.
TEST(SharedRun, HoursWithoutTrainingMakeItLonger) {
  std::vector<ElasticHour> hours(6, {10.0, 0.0});
  hours.insert(hours.end(), 18, {});
  EXPECT_NEAR(elastic_days(hours).value(), 40.0, 1e-12);
  EXPECT_FALSE(elastic_days(std::vector<ElasticHour>(24)));
}

// 10 + 30 + 480 + 40 s; nothing is detected.
TEST(SharedRun, APlannedChangeSavesRestartsAndLoads) {
  const Disruption d{.mean_time_between = seconds(1e6),
                     .save_pause = seconds(10),
                     .persist = seconds(30),
                     .detection = seconds(120),
                     .restart = seconds(480),
                     .load = seconds(40),
                     .catch_up = {}};
  EXPECT_DOUBLE_EQ(resize_time(d).value(), 560.0);
}

// 36 GPUs for an hour at 2.5 are 90; 20 requests/s of 5,000 tokens are 360 M tokens: 0.25 a
// million.
TEST(SharedRun, AMillionTokensCostTheHostsOverTheTokens) {
  EXPECT_NEAR(cost_per_million_tokens(36.0, 2.5, 20.0 * 3600.0 * 5000.0), 0.25, 1e-12);
}

TEST(SharedRun, ScaledQuantilesKeepTheirRelativeWidth) {
  const Quantiles q = scaled_quantiles({8.0, 10.0, 14.0}, 1.5);
  EXPECT_DOUBLE_EQ(q.p10, 12.0);
  EXPECT_DOUBLE_EQ(q.p50, 15.0);
  EXPECT_DOUBLE_EQ(q.p90, 21.0);
}

// 8 hosts take 20 days, 30 are allowed: 8 x 20 / 30 = 5.33, so 6 hosts.
TEST(SmallestCluster, BeginsAtTheGpuHoursOfTheDeadline) {
  EXPECT_EQ(least_hosts(8, 20.0, 30.0), 6);
  EXPECT_EQ(least_hosts(8, 15.0, 30.0), 4);
  EXPECT_EQ(least_hosts(1, 1.0, 1000.0), 1);
}

}  // namespace
}  // namespace meshwright::planner
