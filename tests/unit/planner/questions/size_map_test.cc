// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/size_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

Plan plan_with(double memory_gib) {
  return search({small_model(), small_cluster(2, memory_gib), small_job()}, {});
}

// 16 devices and 8 layers: tensor 1, 2, 4, 8, 16 and pipeline 1, 2, 4, 8.
TEST(SizeMap, LooksAtPowersOfTwoThatDivideTheDevices) {
  const std::vector<SizeCell> cells = size_map(plan_with(8), {});
  ASSERT_EQ(cells.size(), 5U * 4U);
  EXPECT_EQ(cells.front().tensor_parallel_size, 1);
  EXPECT_EQ(cells.back().tensor_parallel_size, 16);
  EXPECT_EQ(cells.back().pipeline_parallel_size, 8);
  // 16 x 8 sizes are more than 16 devices.
  EXPECT_FALSE(cells.back().best || cells.back().rejection || cells.back().too_large);
}

TEST(SizeMap, TheBestCellIsTheSearchsWinner) {
  const Plan plan = plan_with(8);
  Seconds best = seconds(1e300);
  for (const SizeCell& cell : size_map(plan, {})) {
    if (!cell.best) continue;
    EXPECT_EQ(cell.best->layout.tensor_parallel_size, cell.tensor_parallel_size);
    EXPECT_EQ(cell.best->layout.pipeline_parallel_size, cell.pipeline_parallel_size);
    best = std::min(best, cell.best->step_time);
  }
  EXPECT_EQ(best, plan.ranked.front().step_time);
}

TEST(SizeMap, SizesThatTheSearchWasToldAreTheOnes) {
  SearchOptions search;
  search.space[&Layout::tensor_parallel_size] = {2};
  search.space[&Layout::pipeline_parallel_size] = {1, 4};
  EXPECT_EQ(size_map(plan_with(8), search).size(), 2U);
}

TEST(SizeMap, ALayoutThatIsTooLargeKeepsItsTimeAndItsReason) {
  int found = 0;
  for (const SizeCell& cell : size_map(plan_with(1), {})) {
    if (!cell.too_large) continue;
    ++found;
    ASSERT_TRUE(cell.rejection);
    EXPECT_EQ(cell.rejection->rule, Rule::memory_capacity);
    EXPECT_GT(cell.too_large->peak_memory, gibibytes(1));
    EXPECT_GT(cell.too_large->step_time, Seconds{});
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace meshwright::planner
