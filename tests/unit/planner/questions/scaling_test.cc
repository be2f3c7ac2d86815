// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

// 16 devices in nodes of 8: a quarter and a half are parts of a node or a node, 32 and 64 are
// nodes.
TEST(Scaling, AroundAPlanIsAQuarterToFourTimesItsDevices) {
  const Plan plan = search({small_model(), small_cluster(2, 80), small_job()}, {});
  const Scaling found = scaling_around(plan, {});
  std::vector<int> counts;
  for (const ScalePoint& point : found.points) counts.push_back(point.gpus);
  EXPECT_THAT(counts, testing::ElementsAre(4, 8, 16, 32, 64));
  EXPECT_EQ(found.points[0].efficiency, 1.0);
  EXPECT_EQ(found.points[2].step_time, plan.ranked.front().step_time);
  // The batch is the same, so more devices are never more efficient here.
  EXPECT_LE(found.points[4].efficiency, 1.0);
  EXPECT_TRUE(found.choices.empty());
  EXPECT_FALSE(found.best);
}

TEST(Scaling, NodesThatNothingLinksAreNotCounted) {
  Cluster cluster = small_cluster(1, 80);
  cluster.inter_node.bandwidth = {};
  const Plan plan = search({small_model(), cluster, small_job()}, {});
  std::vector<int> counts;
  for (const ScalePoint& point : scaling_around(plan, {}).points) counts.push_back(point.gpus);
  EXPECT_THAT(counts, testing::ElementsAre(2, 4, 8));
}

TEST(Scaling, AroundAPlanWithoutLayoutsHasNoPoints) {
  Plan plan = search({small_model(), small_cluster(2, 80), small_job()}, {});
  plan.ranked.clear();
  EXPECT_TRUE(scaling_around(plan, {}).points.empty());
}

// A search finds the count that is said to fit, and no smaller doubling has a layout.
TEST(Scaling, UntilItFitsEndsAtTheFirstCountThatDoes) {
  double memory = 1.0;  // GiB of a device; less and less, until nothing fits
  const auto searched = [&] {
    return search({small_model(), small_cluster(1, memory), small_job()}, {});
  };
  Plan plan = searched();
  for (; !plan.ranked.empty(); plan = searched()) memory *= 0.8;
  const Scaling found = scaling_until_it_fits(plan, {});
  ASSERT_FALSE(found.points.empty());
  for (const ScalePoint& point : found.points) {
    const Plan there = search({plan.model, scaled_to(plan.cluster, point.gpus), plan.job}, {});
    EXPECT_EQ(point.layout.has_value(), !there.ranked.empty()) << point.gpus;
    EXPECT_EQ(point.layout.has_value(), &point == &found.points.back()) << point.gpus;
  }
}

}  // namespace
}  // namespace meshwright::planner
