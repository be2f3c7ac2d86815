// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/robust_pick.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

using testing::HasSubstr;

// 8 layers, devices of 80 GiB: 72 GiB keep 10 % free.
Scenario small_devices() { return {small_model(), small_cluster(2, 80), small_job()}; }

Timed asked_layout(int pipeline, int chunks, double step, double memory_gib) {
  Layout layout;
  layout.pipeline_parallel_size = pipeline;
  layout.virtual_pipeline_parallel_size = chunks;
  return {layout, seconds(step), gibibytes(memory_gib)};
}

// 4 stages of 2 chunks are 8 chunks for 8 layers; 2 of 2 are 4, of two layers each.
TEST(RobustPick, AChunkOfOneLayerIsOneOfSeveralChunks) {
  EXPECT_TRUE(has_one_layer_chunks(small_model(), asked_layout(4, 2, 1, 1).layout));
  EXPECT_FALSE(has_one_layer_chunks(small_model(), asked_layout(2, 2, 1, 1).layout));
  EXPECT_FALSE(has_one_layer_chunks(small_model(), asked_layout(8, 1, 1, 1).layout));
}

// 10.00 s at 93 % with chunks of one layer; 10.05 s at 93 %; 10.10 s, 1 % longer, at 60 / 80 = 75
// %.
TEST(RobustPick, IsTheFastestWithinTwoPercentThatMeetsTheConditions) {
  const RobustPick found =
      robust_pick(small_devices(), {asked_layout(4, 2, 10.0, 74.4), asked_layout(2, 2, 10.05, 74.4),
                                    asked_layout(4, 2, 10.06, 50), asked_layout(2, 2, 10.1, 60),
                                    asked_layout(2, 1, 10.2, 40)});
  ASSERT_TRUE(found.pick);
  EXPECT_EQ(found.pick->step_time, seconds(10.1));
  EXPECT_NEAR(found.loss, 0.01, 1e-12);
  EXPECT_FALSE(found.is_best);
  EXPECT_THAT(found.sentence, HasSubstr("10.1 s (1 % longer) and 75 % of the memory"));
  EXPECT_THAT(found.sentence, HasSubstr("uses 93 % of the memory and has chunks of one layer"));
}

TEST(RobustPick, SaysThatRankOneIsRobust) {
  const RobustPick found =
      robust_pick(small_devices(), {asked_layout(2, 2, 10, 72), asked_layout(2, 1, 11, 40)});
  EXPECT_TRUE(found.is_best);
  EXPECT_EQ(found.loss, 0.0);
  EXPECT_THAT(found.sentence, HasSubstr("Layout #1 is robust"));
}

TEST(RobustPick, SaysWhichConditionFails) {
  // 10.3 / 10 is 3 % longer.
  const RobustPick slow =
      robust_pick(small_devices(), {asked_layout(4, 2, 10, 60), asked_layout(2, 1, 10.3, 60)});
  EXPECT_FALSE(slow.pick);
  EXPECT_THAT(slow.sentence, HasSubstr("within 2 % of its step time"));
  EXPECT_THAT(slow.sentence, HasSubstr("(3 % longer)"));
  const RobustPick full = robust_pick(small_devices(), {asked_layout(2, 1, 10, 76)});
  EXPECT_FALSE(full.pick);
  EXPECT_THAT(full.sentence, HasSubstr("No layout leaves 10 % of the memory free"));
  EXPECT_THAT(full.sentence, HasSubstr("95 % of the memory"));
  const RobustPick chunks =
      robust_pick(small_devices(), {asked_layout(2, 1, 10, 76), asked_layout(4, 2, 11, 60)});
  EXPECT_THAT(chunks.sentence, HasSubstr(" It has chunks of one layer."));
  // A space without other layouts: layout #1 is named once.
  const RobustPick alone =
      robust_pick(small_devices(), {asked_layout(4, 2, 10, 60), asked_layout(4, 2, 10, 60)});
  EXPECT_EQ(alone.sentence, "No layout is robust. Layout #1 has chunks of one layer.");
}

// The same as asking every layout of the space.
TEST(RobustPick, OfAPlanIsTheBestOfTheWholeSpace) {
  SearchOptions options;
  options.top = 100'000;
  const double fastest = in_gibibytes(
      search({small_model(), small_cluster(8, 80), small_job()}, options).ranked[0].peak_memory());
  // The fastest layout needs 95 % of such a device.
  const Plan plan = search({small_model(), small_cluster(8, fastest / 0.95), small_job()}, options);
  std::vector<Timed> all;
  for (const Estimate& e : plan.ranked) all.push_back({e.layout, e.step_time, e.peak_memory()});
  const RobustPick expected = robust_pick(static_cast<const Scenario&>(plan), all);
  const RobustPick found = robust_pick(plan, options);
  EXPECT_FALSE(found.is_best);
  ASSERT_EQ(found.pick.has_value(), expected.pick.has_value());
  if (found.pick) {
    EXPECT_EQ(found.pick->step_time, expected.pick->step_time);
  }
}

}  // namespace
}  // namespace meshwright::planner
