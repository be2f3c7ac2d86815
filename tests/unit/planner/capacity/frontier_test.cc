// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/frontier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::planner {
namespace {

CapacityRow row_of(int gpus, double days, double cost) {
  CapacityRow row;
  row.gpus = gpus;
  row.global_batch_size = 2048;
  row.run.days = {days, days, days};
  row.run.gpu_hours = {cost / 2.0, cost / 2.0, cost / 2.0};
  row.run.cost = Quantiles{cost, cost, cost};
  return row;
}

// 120 days for 60 M, 66 for 66 M, 40 for 79 M: (66 - 60) / (120 - 66) = 0.111 M and (79 - 66) / (66
// - 40) = 0.5 M for each day saved.
TEST(Frontier, EachDaySavedHasItsPrice) {
  const auto points =
      frontier_of({row_of(32768, 40, 79e6), row_of(8192, 120, 60e6), row_of(16384, 66, 66e6)});
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].row, 1U);  // the slowest first
  EXPECT_FALSE(points[0].cost_per_day_saved);
  EXPECT_NEAR(*points[1].cost_per_day_saved, 6e6 / 54.0, 1e-6);
  EXPECT_EQ(points[1].slower, 1U);
  EXPECT_NEAR(*points[2].cost_per_day_saved, 0.5e6, 1e-6);
}

// 24,576 = 3 x 2^13, and 2,048 is not divisible by 3. 16,384 GPUs are faster and cheaper.
TEST(Frontier, ADominatedRowSaysWhatBeatsItAndWhy) {
  const auto points =
      frontier_of({row_of(16384, 66, 66e6), row_of(24576, 75, 112e6), row_of(8192, 120, 60e6)});
  EXPECT_EQ(odd_part(24576), 3);
  EXPECT_EQ(odd_part(16384), 1);
  ASSERT_EQ(points[1].row, 1U);
  EXPECT_EQ(points[1].dominated_by, 0U);
  EXPECT_FALSE(points[1].cost_per_day_saved);
  EXPECT_EQ(points[1].reason, "batch 2,048 is not divisible by the factor 3 of 24,576");
  // The day's price steps over it.
  EXPECT_EQ(points[2].slower, 2U);
  EXPECT_TRUE(points[0].reason.empty());
}

TEST(Frontier, WithoutPricesGpuHoursAreTheCost) {
  std::vector<CapacityRow> rows{row_of(8, 10, 100.0), row_of(16, 6, 120.0)};
  rows[0].run.cost.reset();
  EXPECT_FALSE(all_priced(rows));
  const auto points = frontier_of(rows);
  EXPECT_NEAR(*points[1].cost_per_day_saved, (60.0 - 50.0) / 4.0, 1e-12);
  rows[0].reason = "does not fit";
  EXPECT_EQ(frontier_of(rows).size(), 1U);
}

}  // namespace
}  // namespace meshwright::planner
