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

// Layouts as a search finds them, and where they are on the front.
std::vector<FoundLayout> found_of(const std::vector<Estimate>& ranked,
                                  const std::vector<std::size_t>& pareto) {
  std::vector<FoundLayout> found;
  for (const Estimate& e : ranked) found.push_back({{e.layout, e.step_time, e.peak_memory()}});
  for (const std::size_t place : pareto) found[place].on_front = true;
  return found;
}

Scenario two_nodes() { return {small_model(), small_cluster(2, 80), small_job()}; }

TEST(Choice, ATwinHasTheSameSizesAndNoLessMemory) {
  const Estimate better = made(4, 2, 1.0, 60);
  EXPECT_TRUE(near_duplicate(made(4, 1, 1.3, 58), better));
  EXPECT_FALSE(near_duplicate(made(4, 1, 1.3, 56), better));  // 6.7 % less memory
  EXPECT_FALSE(near_duplicate(made(2, 2, 1.0, 60), better));
}

TEST(Choice, TwinsMakeRoomForOthersAndTheFrontStays) {
  std::vector<FoundLayout> found =
      found_of({made(4, 2, 1.00, 60), made(4, 1, 1.01, 60), made(2, 1, 1.02, 70),
                made(2, 2, 1.03, 70), made(8, 1, 1.10, 75), made(8, 1, 1.20, 20)},
               {0, 5});
  const LeftOutOfChoice left_out = choose(found, two_nodes(), Objective::step_time, {}, 2);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].candidate.layout.tensor_parallel_size, 4);
  EXPECT_EQ(found[1].candidate.layout.tensor_parallel_size, 2);
  EXPECT_EQ(found[2].candidate.step_time, seconds(1.20));
  EXPECT_TRUE(found[0].on_front && !found[1].on_front && found[2].on_front);
  EXPECT_EQ(left_out.near_duplicates, 2);
}

// The third needs 6.7 % less than the first and 1.8 % less than the second, whose twin it is.
TEST(Choice, ATwinOfAnyKeptLayoutIsLeftOut) {
  std::vector<FoundLayout> found =
      found_of({made(4, 1, 1.0, 60), made(4, 2, 1.1, 57), made(4, 4, 1.2, 56)}, {});
  choose(found, two_nodes(), Objective::step_time, {}, 10);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].candidate.step_time, seconds(1.1));
}

TEST(Choice, LimitsLeaveOutAndNameTheNearest) {
  std::vector<FoundLayout> found =
      found_of({made(4, 1, 1.0, 60), made(2, 1, 2.0, 50), made(1, 1, 3.0, 40)}, {0, 1, 2});
  Limits limits;
  limits.max_step = seconds(1.5);
  const LeftOutOfChoice left_out = choose(found, two_nodes(), Objective::step_time, limits, 10);
  EXPECT_EQ(found.size(), 1U);
  EXPECT_EQ(left_out.over_limits, 2);
  EXPECT_THAT(left_out.nearest, testing::HasSubstr("takes 2 s, the limit is 1.5 s"));
}

TEST(Choice, MostFreeMemoryIsTheLastOfTheFront) {
  std::vector<FoundLayout> found =
      found_of({made(4, 1, 1.0, 60), made(2, 1, 2.0, 50), made(1, 1, 3.0, 40)}, {0, 1, 2});
  choose(found, two_nodes(), Objective::memory_headroom, {}, 10);
  EXPECT_EQ(found.front().candidate.layout.tensor_parallel_size, 1);
  EXPECT_EQ(found.size(), 3U);
}

TEST(Choice, MoreShownLayoutsContinueTheSameList) {
  SearchOptions options;
  const auto shown = [&](int top) {
    options.top = top;
    return chosen_plan({small_model(), small_cluster(8, 8), small_job()}, options,
                       Objective::step_time, {});
  };
  const ChosenPlan one = shown(1);
  const ChosenPlan many = shown(100);
  ASSERT_GE(one.plan.ranked.size(), static_cast<std::size_t>(kLayoutsKept));
  ASSERT_GE(many.plan.ranked.size(), one.plan.ranked.size());
  for (std::size_t i = 0; i < kLayoutsKept; ++i) {
    EXPECT_EQ(one.plan.ranked[i].layout, many.plan.ranked[i].layout) << i;
  }
  ASSERT_EQ(one.pool.ranked.size(), many.pool.ranked.size());
  EXPECT_EQ(one.left_out.near_duplicates, many.left_out.near_duplicates);
}

}  // namespace
}  // namespace meshwright::planner
