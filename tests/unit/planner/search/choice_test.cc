// SPDX-License-Identifier: Apache-2.0
#include "planner/search/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

Estimate made(int tensor, int chunks, double step, double memory_gib) {
  Estimate estimate;
  estimate.layout.tensor_parallel_size = tensor;
  estimate.layout.virtual_pipeline_parallel_size = chunks;
  estimate.step_time = seconds(step);
  StageMemory stage;
  stage.reserve = gibibytes(memory_gib);
  estimate.memory.push_back(stage);
  return estimate;
}

Plan plan_of(std::vector<Estimate> ranked, std::vector<std::size_t> pareto) {
  Plan plan;
  plan.model = small_model();
  plan.cluster = small_cluster(2, 80);
  plan.job = small_job();
  plan.ranked = std::move(ranked);
  plan.pareto = std::move(pareto);
  return plan;
}

TEST(Choice, ATwinHasTheSameSizesAndNoLessMemory) {
  const Estimate better = made(4, 2, 1.0, 60);
  EXPECT_TRUE(near_twin(made(4, 1, 1.3, 58), better));
  EXPECT_FALSE(near_twin(made(4, 1, 1.3, 56), better));  // 6.7 % less memory
  EXPECT_FALSE(near_twin(made(2, 2, 1.0, 60), better));
}

TEST(Choice, TwinsMakeRoomForOthersAndTheFrontStays) {
  Plan plan = plan_of({made(4, 2, 1.00, 60), made(4, 1, 1.01, 60), made(2, 1, 1.02, 70),
                       made(2, 2, 1.03, 70), made(8, 1, 1.10, 75), made(8, 1, 1.20, 20)},
                      {0, 5});
  const LeftOutOfChoice left_out = choose(plan, Objective::step_time, {}, 2);
  ASSERT_EQ(plan.ranked.size(), 3U);
  EXPECT_EQ(plan.ranked[0].layout.tensor_parallel_size, 4);
  EXPECT_EQ(plan.ranked[1].layout.tensor_parallel_size, 2);
  EXPECT_EQ(plan.ranked[2].step_time, seconds(1.20));
  EXPECT_THAT(plan.pareto, testing::ElementsAre(0, 2));
  EXPECT_EQ(left_out.near_twins, 2);
}

TEST(Choice, LimitsLeaveOutAndNameTheNearest) {
  Plan plan = plan_of({made(4, 1, 1.0, 60), made(2, 1, 2.0, 50), made(1, 1, 3.0, 40)}, {0, 1, 2});
  Limits limits;
  limits.max_step = seconds(1.5);
  const LeftOutOfChoice left_out = choose(plan, Objective::step_time, limits, 10);
  EXPECT_EQ(plan.ranked.size(), 1U);
  EXPECT_EQ(left_out.over_limits, 2);
  EXPECT_THAT(left_out.nearest, testing::HasSubstr("takes 2 s of at most 1.5 s"));
}

TEST(Choice, MostFreeMemoryIsTheLastOfTheFront) {
  Plan plan = plan_of({made(4, 1, 1.0, 60), made(2, 1, 2.0, 50), made(1, 1, 3.0, 40)}, {0, 1, 2});
  choose(plan, Objective::memory_headroom, {}, 10);
  EXPECT_EQ(plan.ranked.front().layout.tensor_parallel_size, 1);
  EXPECT_THAT(plan.pareto, testing::ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace meshwright::planner
