// SPDX-License-Identifier: Apache-2.0
#include "planner/search/training_cost.h"

#include <gtest/gtest.h>

#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

// 64 * 1024 = 65,536 tokens a step; 6,553,601 tokens need 101 steps; at 36 s: 3,636 s = 1.01 h; on
// 8 devices 8.08 GPU-hours; at 2 a GPU-hour 16.16; at 500 W 4.04 kWh.
TEST(TrainingCost, IsStepsTimesStepTimeTimesGpus) {
  Job job = small_job();
  job.train_tokens = 6553601;
  Cluster cluster = small_cluster(1, 80);
  cluster.price_per_gpu_hour = 2.0;
  cluster.device.power_watts = 500.0;
  const auto result = training_cost(job, cluster, seconds(36));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->steps, 101.0);
  EXPECT_DOUBLE_EQ(result->train_time.value(), 3636.0);
  EXPECT_DOUBLE_EQ(result->gpu_hours, 8.08);
  EXPECT_DOUBLE_EQ(result->cost.value(), 16.16);
  EXPECT_DOUBLE_EQ(result->device_energy_kwh.value(), 4.04);
  EXPECT_DOUBLE_EQ(days(seconds(86400)), 1.0);
}

TEST(TrainingCost, SaysNothingThatWasNotStated) {
  Job job = small_job();
  EXPECT_FALSE(training_cost(job, small_cluster(1, 80), seconds(1)).has_value());
  job.train_tokens = 1;
  const auto result = training_cost(job, small_cluster(1, 80), seconds(1));
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(result->cost.has_value());
  EXPECT_FALSE(result->device_energy_kwh.has_value());
}

}  // namespace
}  // namespace meshwright::planner
