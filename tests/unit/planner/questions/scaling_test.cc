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

// A search finds a layout on the count that is said to be enough, and none on any smaller one that
// was tried; the next smaller one is at most a node away.
TEST(Scaling, TheFewestGpusAreFoundToANode) {
  double memory = 1.0;  // GiB of a device; less and less, until a node has no layout
  Scenario scenario{small_model(), small_cluster(1, memory), small_job()};
  while (!search(scenario, {}).ranked.empty()) scenario.cluster = small_cluster(1, memory *= 0.8);
  const Scaling found = least_gpus(scenario, {}, {});
  ASSERT_TRUE(found.best);
  ASSERT_GT(*found.best, 0U);
  for (std::size_t i = 0; i < found.points.size(); ++i) {
    const ScalePoint& point = found.points[i];
    const Plan there =
        search({scenario.model, scaled_to(scenario.cluster, point.gpus), scenario.job}, {});
    EXPECT_EQ(point.layout.has_value(), !there.ranked.empty()) << point.gpus;
    EXPECT_EQ(point.layout.has_value(), i >= *found.best) << point.gpus;
  }
  const int fewest = found.points[*found.best].gpus;
  EXPECT_LE(fewest - found.points[*found.best - 1].gpus, 8);
  // From a count that is known to be too small.
  const Scaling above = least_gpus(scenario, {}, {}, found.points[*found.best - 1].gpus);
  EXPECT_EQ(above.points[*above.best].gpus, fewest);
}

// Half of the fewest GPUs' step: more of them.
TEST(Scaling, TheFewestGpusMeetALimitOfTheStep) {
  const Scenario scenario{small_model(), small_cluster(1, 80), small_job()};
  const Scaling free = least_gpus(scenario, {}, {});
  const ScalePoint& fewest = free.points[*free.best];
  Limits limits;
  limits.max_step = fewest.step_time * 0.5;
  const Scaling found = least_gpus(scenario, {}, {.gpus = {}, .limits = limits});
  ASSERT_TRUE(found.best);
  EXPECT_GT(found.points[*found.best].gpus, fewest.gpus);
  EXPECT_NE(found.points[*found.best - 1].reason.find("the limit is"), std::string::npos);
}

}  // namespace
}  // namespace meshwright::planner
