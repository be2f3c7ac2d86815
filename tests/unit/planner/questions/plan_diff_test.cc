// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/plan_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"

namespace meshwright::planner {
namespace {

using testing::HasSubstr;

RankedLayout ranked(int tensor, double step, double memory_gib) {
  Layout layout;
  layout.tensor_parallel_size = tensor;
  return {layout, seconds(step), gibibytes(memory_gib)};
}

// The bandwidth is halved: tp2 becomes the best, tp8 leaves the ranking.
PlanDiff halved() {
  const PlanSide before{{{"/cluster/bandwidth", "50"}, {"/job/batch", "64"}},
                        {ranked(4, 2.0, 60), ranked(2, 2.1, 70), ranked(8, 2.2, 50)}};
  const PlanSide after{{{"/cluster/bandwidth", "25"}, {"/job/batch", "64"}, {"/job/tokens", "9"}},
                       {ranked(2, 2.2, 75), ranked(4, 2.6, 60)}};
  return diff(before, after);
}

TEST(PlanDiff, OfAPlanWithItselfIsNothing) {
  const PlanSide side{{{"/a", "1"}}, {ranked(4, 2.0, 60)}};
  const PlanDiff same = diff(side, side);
  EXPECT_TRUE(same.inputs.empty());
  EXPECT_FALSE(same.winner_changes);
  EXPECT_EQ(same.step_time, 0.0);
  for (const char* gate : {"winner", "step_time>0%", "peak_memory>0%"}) {
    EXPECT_EQ(failure(gate_from_text(gate), same), "") << gate;
  }
}

TEST(PlanDiff, NamesInputsWinnerAndRanks) {
  const PlanDiff d = halved();
  ASSERT_EQ(d.inputs.size(), 2U);
  EXPECT_EQ(d.inputs[0].pointer, "/cluster/bandwidth");
  EXPECT_EQ(d.inputs[0].before, "50");
  EXPECT_EQ(d.inputs[0].after, "25");
  EXPECT_EQ(d.inputs[1].before, "");
  EXPECT_TRUE(d.winner_changes);
  EXPECT_NEAR(*d.step_time, 2.2 / 2.0 - 1.0, 1e-12);
  EXPECT_NEAR(*d.peak_memory, 75.0 / 60.0 - 1.0, 1e-12);
  ASSERT_EQ(d.layouts.size(), 3U);
  EXPECT_EQ(d.layouts[0].rank_before, std::size_t{1});
  EXPECT_EQ(d.layouts[0].rank_after, std::size_t{0});
  EXPECT_FALSE(d.layouts[2].rank_after);
  EXPECT_THAT(sentence_of(d), HasSubstr("from tp4 to tp2"));
  EXPECT_THAT(sentence_of(d), HasSubstr("+10 %"));
}

TEST(PlanDiff, GatesFailAboveTheirThreshold) {
  const PlanDiff d = halved();
  EXPECT_THAT(failure(gate_from_text("step_time>3%"), d), HasSubstr("+10 %"));
  EXPECT_EQ(failure(gate_from_text("step_time>11%"), d), "");
  EXPECT_THAT(failure(gate_from_text("peak_memory>5%"), d), HasSubstr("+25 %"));
  EXPECT_THAT(failure(gate_from_text("winner"), d), HasSubstr("changes"));
}

TEST(PlanDiff, LosingEveryLayoutFailsEveryGate) {
  const PlanDiff lost = diff({{}, {ranked(4, 2.0, 60)}}, {{}, {}});
  EXPECT_THAT(sentence_of(lost), HasSubstr("no layout fits in the later plan"));
  EXPECT_NE(failure(gate_from_text("step_time>50%"), lost), "");
  const PlanDiff gained = diff({{}, {}}, {{}, {ranked(4, 2.0, 60)}});
  EXPECT_THAT(sentence_of(gained), HasSubstr("fits now"));
  EXPECT_EQ(failure(gate_from_text("step_time>0%"), gained), "");
}

TEST(PlanDiff, AGateThatCannotBeReadIsRefused) {
  for (const char* text : {"step_time", "step_time>3", "steptime>3%", "step_time>x%",
                           "step_time>-3%", "winner>3%", ""}) {
    EXPECT_THROW(gate_from_text(text), InputError) << text;
  }
}

}  // namespace
}  // namespace meshwright::planner
