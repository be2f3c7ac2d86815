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

PlanSide side_of(std::map<std::string, std::string> inputs, std::vector<RankedLayout> ranked,
                 double tokens = 1000.0) {
  PlanSide side{std::move(inputs), std::move(ranked), {}, tokens};
  if (side.ranked.empty()) return side;
  const RankedLayout& best = side.ranked.front();
  side.best = {best.step_time.value(), tokens / best.step_time.value(),
               std::nullopt,           in_gibibytes(best.peak_memory),
               std::nullopt,           std::nullopt};
  return side;
}

// The bandwidth is halved: tp2 becomes the best, tp8 leaves the ranking.
PlanDiff halved() {
  const PlanSide before = side_of({{"/cluster/bandwidth", "50"}, {"/job/batch", "64"}},
                                  {ranked(4, 2.0, 60), ranked(2, 2.1, 70), ranked(8, 2.2, 50)});
  const PlanSide after =
      side_of({{"/cluster/bandwidth", "25"}, {"/job/batch", "64"}, {"/job/tokens", "9"}},
              {ranked(2, 2.2, 75), ranked(4, 2.6, 60)});
  return diff(before, after);
}

TEST(PlanDiff, OfAPlanWithItselfIsNothing) {
  const PlanSide side = side_of({{"/a", "1"}}, {ranked(4, 2.0, 60)});
  const PlanDiff same = diff(side, side);
  EXPECT_TRUE(same.inputs.empty());
  EXPECT_FALSE(same.winner_changes);
  EXPECT_EQ(same.change(PlanQuantity::step_time), 0.0);
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
  EXPECT_NEAR(*d.change(PlanQuantity::step_time), 2.2 / 2.0 - 1.0, 1e-12);
  EXPECT_NEAR(*d.change(PlanQuantity::peak_memory), 75.0 / 60.0 - 1.0, 1e-12);
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

// 1,000 tokens in 2 s are 500 tokens/s; in 2.2 s 454.5, 9.1 % fewer.
TEST(PlanDiff, GatesJudgeRatesAndLimits) {
  const PlanDiff d = halved();
  EXPECT_THAT(failure(gate_from_text("tokens_per_second<-3%"), d),
              HasSubstr("-9.09 %, less than -3"));
  EXPECT_EQ(failure(gate_from_text("tokens_per_second<-10%"), d), "");
  EXPECT_EQ(failure(gate_from_text("tokens_per_second<400"), d), "");
  EXPECT_EQ(failure(gate_from_text("peak_memory>70"), d), "peak_memory is 75, more than 70");
  EXPECT_THROW(failure(gate_from_text("days>30"), d), InputError);
}

// Twice the tokens in 3 s for 2 s: 25 % less time a token, 33 % more tokens/s.
TEST(PlanDiff, StepsOfOtherSizesAreComparedByToken) {
  const PlanDiff d =
      diff(side_of({}, {ranked(4, 2.0, 60)}), side_of({}, {ranked(4, 3.0, 60)}, 2000.0));
  EXPECT_NEAR(*d.change(PlanQuantity::step_time), -0.25, 1e-12);
  EXPECT_EQ(failure(gate_from_text("step_time>3%"), d), "");
  EXPECT_EQ(
      sentence_of(d),
      "the best layout stays tp4; a step holds 2 x the tokens; tokens per second 500 -> 666.7 "
      "(+33 %); peak memory 60 GiB -> 60 GiB (+0 %)");
}

TEST(PlanDiff, LosingEveryLayoutFailsEveryGate) {
  const PlanDiff lost = diff(side_of({}, {ranked(4, 2.0, 60)}), {});
  EXPECT_THAT(sentence_of(lost), HasSubstr("no layout fits in the later plan"));
  EXPECT_NE(failure(gate_from_text("step_time>50%"), lost), "");
  const PlanDiff gained = diff({}, side_of({}, {ranked(4, 2.0, 60)}));
  EXPECT_THAT(sentence_of(gained), HasSubstr("fits now"));
  EXPECT_EQ(failure(gate_from_text("step_time>0%"), gained), "");
}

TEST(PlanDiff, AGateThatCannotBeReadIsRefused) {
  for (const char* text : {"step_time", "step_time=3", "steptime>3%", "step_time>x%",
                           "step_time>-3%", "mfu<3%", "winner>3%", ""}) {
    EXPECT_THROW(gate_from_text(text), InputError) << text;
  }
}

}  // namespace
}  // namespace meshwright::planner
