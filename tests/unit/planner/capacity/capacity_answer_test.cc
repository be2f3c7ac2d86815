// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/capacity_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/capacity/limits.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

CapacityQuestion small_question() {
  CapacityQuestion question;
  question.model = small_model();
  question.clusters = {{"small", small_cluster(2, 80), small_job()}};
  question.clusters.front().cluster.price_per_gpu_hour = 2.0;
  question.clusters.front().cluster.device.power_watts = 500.0;
  question.gpus = {8, 16, 32};
  question.global_batch_sizes = {64};
  question.train_tokens = 1e12;
  return question;
}

CapacityAnswer rows_of(const CapacityQuestion& question) {
  return capacity_answer(question, false);
}

TEST(CapacityAnswer, EachRowIsTheFastestLayoutOfASearchOfItsOwn) {
  const CapacityQuestion question = small_question();
  for (const CapacityRow& row : rows_of(question).rows) {
    const Plan plan = search(
        {question.model, scaled_to(small_cluster(2, 80), row.gpus), small_job()}, question.search);
    ASSERT_TRUE(row.fits());
    EXPECT_EQ(row.main_phase().estimate.layout, plan.ranked.front().layout) << row.gpus;
    EXPECT_EQ(row.main_phase().estimate.step_time, plan.ranked.front().step_time);
  }
}

TEST(CapacityAnswer, WithADeadlineTheCheapestThatKeepsIt) {
  CapacityQuestion question = small_question();
  const CapacityAnswer free = rows_of(question);
  question.options.limits.deadline_days = free.rows[1].run.days.p90 * 1.01;
  const CapacityAnswer answer = rows_of(question);
  ASSERT_TRUE(answer.recommendation.recommended);
  EXPECT_EQ(answer.rows[0].broken_limits.size(), 1U);
  const auto cost = [&](const std::optional<std::size_t>& place) {
    return answer.rows[*place].run.cost->p50;
  };
  EXPECT_LE(cost(answer.recommendation.recommended), 1.01 * cost(answer.recommendation.cheapest));
  EXPECT_GE(answer.rows[*answer.recommendation.recommended].gpus, 16);
  EXPECT_EQ(answer.recommendation.smallest, 1U);
}

TEST(CapacityAnswer, WithABudgetTheFastestThatKeepsIt) {
  CapacityQuestion question = small_question();
  question.options.limits.budget = 1e12;
  const CapacityAnswer answer = rows_of(question);
  EXPECT_EQ(answer.recommendation.recommended, answer.recommendation.fastest);
}

// An exchange rate of days and cost that nobody stated recommends nothing.
// Three GPU counts of one batch, and the grid.
TEST(CapacityAnswer, CountsItsSearches) {
  EXPECT_EQ(most_searches(small_question()), 3U + kGridSearches);
}

TEST(CapacityAnswer, WithoutALimitNothingIsRecommended) {
  const CapacityAnswer answer = rows_of(small_question());
  EXPECT_FALSE(answer.recommendation.recommended);
  EXPECT_FALSE(answer.recommendation.closest);
  EXPECT_TRUE(answer.recommendation.is_open());
  EXPECT_THAT(answer.recommendation.reason, testing::HasSubstr("--day-worth"));
  EXPECT_EQ(answer.front(), &answer.rows[*answer.recommendation.cheapest]);
}

// A worth above the frontier's price of a day takes the faster row, one below it the slower.
TEST(CapacityAnswer, TheWorthOfADayChoosesOnTheFrontier) {
  CapacityQuestion question = small_question();
  const CapacityAnswer open = rows_of(question);
  const auto step = std::find_if(open.frontier.begin(), open.frontier.end(),
                                 [](const auto& point) { return point.cost_per_day_saved; });
  ASSERT_NE(step, open.frontier.end());
  const double price = *step->cost_per_day_saved;
  question.options.day_worth = price * 0.99;
  const CapacityAnswer below = rows_of(question);
  question.options.day_worth = price * 1.01;
  const CapacityAnswer above = rows_of(question);
  EXPECT_EQ(below.recommendation.recommended, step->slower);
  const std::size_t taken = *above.recommendation.recommended;
  EXPECT_LE(above.rows[taken].run.days.p50, open.rows[step->row].run.days.p50);
}

// The row in front is the recommended one, not the plan's; of one count only that count is taken.
TEST(CapacityAnswer, TheRecommendedRowIsInFront) {
  CapacityQuestion question = small_question();
  question.options.limits.budget = 1e12;
  Plan plan = search({question.model, small_cluster(1, 80), small_job()}, {});
  question.planned = plan.ranked.front();
  const CapacityAnswer answer = rows_of(question);
  ASSERT_TRUE(answer.planned);
  ASSERT_NE(answer.planned, answer.recommendation.recommended);
  EXPECT_EQ(answer.front(), &answer.rows[*answer.recommendation.recommended]);
  question.asked_gpus = 8;
  EXPECT_EQ(rows_of(question).recommendation.recommended, answer.planned);
}

TEST(CapacityAnswer, StepsOfAFactorTakeThatMuchLonger) {
  CapacityQuestion question = small_question();
  question.options.failures.per_thousand_node_days = stated(1e-9);
  const CapacityRow today = rows_of(question).rows.front();
  question.options.step_factor = 1.25;
  const CapacityRow slower = rows_of(question).rows.front();
  const Estimate& e = slower.main_phase().estimate;
  EXPECT_NEAR(e.step_time / today.main_phase().estimate.step_time, 1.25, 1e-12);
  EXPECT_NEAR(slower.run.time.productive / today.run.time.productive, 1.25, 1e-12);
  Seconds terms;
  for (const Term& term : e.terms) terms += term.cost.time;
  EXPECT_NEAR(terms / e.step_time, 1.0, 1e-9);
}

TEST(CapacityAnswer, RisksHaveDaysAndWhatSettlesThem) {
  CapacityQuestion question = small_question();
  question.gpus = {16};
  question.options.limits.deadline_days = 1e6;
  question.options.failures.spare_nodes = 1;
  const CapacityAnswer answer = capacity_answer(question, true);
  ASSERT_GE(answer.risks.size(), 5U);
  for (const Risk& risk : answer.risks) {
    EXPECT_FALSE(risk.what.empty() || risk.how_likely.empty() || risk.settled_by.empty());
    EXPECT_GE(risk.days.value_or(0.0), 0.0) << risk.name;
  }
  EXPECT_EQ(answer.risks.back().name, "arrival");
  EXPECT_THAT(answer.risks.back().settled_by, testing::HasSubstr("before the deadline"));
  // Restart, storage and spares are levers.
  for (const char* name : {"restart_time", "storage_gb_per_s_per_node", "spare_nodes", "pue"}) {
    EXPECT_TRUE(std::any_of(answer.levers.levers.begin(), answer.levers.levers.end(),
                            [&](const Lever& lever) { return lever.name == name; }))
        << name;
  }
}

TEST(CapacityAnswer, WhereNoRowKeepsTheLimitsTheNearestIsNamed) {
  CapacityQuestion question = small_question();
  question.options.limits.deadline_days = 1e-3;
  const CapacityAnswer answer = rows_of(question);
  EXPECT_FALSE(answer.recommendation.recommended);
  ASSERT_TRUE(answer.recommendation.closest);
  EXPECT_EQ(answer.front(), &answer.rows[*answer.recommendation.closest]);
}

TEST(CapacityAnswer, ACountThatIsNoWholeNodesSaysSo) {
  CapacityQuestion question = small_question();
  question.gpus = {12};
  const CapacityAnswer answer = rows_of(question);
  EXPECT_THAT(answer.rows.front().reason, testing::HasSubstr("8 or 16"));
  EXPECT_EQ(answer.front(), nullptr);
}

// 1e9 tokens of batch 32, then the rest of 64: 64 x 1,024 tokens a step.
TEST(CapacityAnswer, AScheduleTrainsPhaseByPhase) {
  CapacityQuestion question = small_question();
  question.gpus = {16};
  question.options.schedule = {{1e9, 32, 1024}, {0.0, 64, 1024}};
  const CapacityRow row = rows_of(question).rows.front();
  ASSERT_EQ(row.phases.size(), 2U);
  EXPECT_EQ(row.phases[0].steps, 30518.0);     // 1e9 / 32,768 = 30,517.6
  EXPECT_EQ(row.phases[1].steps, 15243531.0);  // 999e9 / 65,536 = 15,243,530.3
  EXPECT_EQ(row.global_batch_size, 64);
}

TEST(CapacityAnswer, HalfTheNetworkNeverTrainsFaster) {
  CapacityQuestion question = small_question();
  const CapacityAnswer today = rows_of(question);
  question.what_ifs = {"inter_node_bandwidth=0.5x"};
  const CapacityAnswer slower = rows_of(question);
  for (std::size_t i = 0; i < today.rows.size(); ++i) {
    EXPECT_GE(slower.rows[i].run.days.p50, today.rows[i].run.days.p50);
  }
}

TEST(CapacityAnswer, LeversHoldTheirOwnSpreadAndTheGridItsCommand) {
  CapacityQuestion question = small_question();
  question.gpus = {16};
  const CapacityAnswer answer = capacity_answer(question, true);
  const CapacityRow& row = *answer.front();
  ASSERT_FALSE(answer.levers.levers.empty());
  for (const Lever& lever : answer.levers.levers) {
    if (lever.choice) continue;
    EXPECT_GT(lever.relative_spread, 0.0) << lever.name;
    EXPECT_FALSE(lever.basis.empty()) << lever.name;
  }
  const WhatIfGrid& grid = answer.levers.grid;
  // Failure rates need no search of their own.
  EXPECT_LE(grid.cells.size() / grid.failure_rates.size(), kGridSearches);
  EXPECT_EQ(grid.cells.size(), grid.batch_factors.size() * grid.gpus.size() *
                                   grid.network_factors.size() * grid.failure_rates.size());
  const auto today =
      std::find_if(grid.cells.begin(), grid.cells.end(), [&](const WhatIfCell& cell) {
        return cell.batch_factor == 1.0 && cell.gpus == row.gpus && cell.network_factor == 1.0 &&
               cell.failure_rate == 4.0;
      });
  ASSERT_NE(today, grid.cells.end());
  EXPECT_EQ(today->row.run.days.p50, row.run.days.p50);
  EXPECT_EQ(options_of(question, *today), "--gpus 16 --failure-rate 4");
}

// Efficiency cannot exceed the peak: the lever's upper end stops there.
TEST(CapacityAnswer, ALeverStopsAtPhysics) {
  CapacityQuestion question = small_question();
  question.gpus = {8};
  GemmModel& gemm = question.clusters.front().cluster.device.gemm.front();
  gemm.sustained_fraction = 0.9;
  gemm.relative_spread = 0.5;
  const CapacityAnswer answer = capacity_answer(question, true);
  for (const Lever& lever : answer.levers.levers) {
    if (lever.name == "gemm_efficiency") {
      EXPECT_NEAR(lever.high->value, 1.0, 1e-9);
    }
  }
}

// The first step whose gain is below 0.8 of what it adds.
TEST(CapacityAnswer, ScalingBendsWhereGpusPayLess) {
  CapacityQuestion question = small_question();
  question.gpus = {8, 16, 32, 64, 128, 256};
  const CapacityAnswer answer = rows_of(question);
  ASSERT_EQ(answer.scaling.size(), 1U);
  const ScalingSeries& series = answer.scaling.front();
  ASSERT_TRUE(series.bend);
  EXPECT_LT(series.steps[*series.bend].gain, kBendGain);
  EXPECT_FALSE(series.steps[*series.bend].term.empty());
  for (std::size_t i = 0; i < *series.bend; ++i) EXPECT_GE(series.steps[i].gain, kBendGain);
}

// Nobody stated a length: rows are of a round one, and half the GPUs still give fewer tokens/s.
TEST(CapacityAnswer, WithoutATrainingLengthTheRowsAreTheSame) {
  CapacityQuestion question = small_question();
  const CapacityAnswer stated = rows_of(question);
  question.train_tokens.reset();
  const CapacityAnswer answer = rows_of(question);
  ASSERT_EQ(answer.rows.size(), stated.rows.size());
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    EXPECT_EQ(answer.rows[i].run.days.p50, stated.rows[i].run.days.p50);  // 1e12 tokens in both
  }
  EXPECT_LT(answer.rows[0].tokens_per_second.p50, answer.rows[1].tokens_per_second.p50);
}

TEST(CapacityAnswer, ABatchStandsBesideTheSchedule) {
  CapacityQuestion question = small_question();
  question.gpus = {16};
  question.options.schedule = {{1e11, 32, 1024}, {0.0, 64, 1024}};
  question.global_batch_sizes = {64, 128};
  const CapacityAnswer answer = rows_of(question);
  ASSERT_EQ(answer.rows.size(), 3U);
  EXPECT_TRUE(answer.rows[0].scheduled);
  EXPECT_EQ(answer.rows[0].phases.size(), 2U);
  EXPECT_FALSE(answer.rows[1].scheduled);
  EXPECT_EQ(answer.rows[2].global_batch_size, 128);
  EXPECT_EQ(answer.scaling.size(), 3U);  // each a series of its own
}

// 40 days allowed from the 1st of January are up to the 9th of February.
TEST(CapacityAnswer, ADeadlineMayBeADayOfTheCalendar) {
  CapacityQuestion question = small_question();
  question.options.start = date_from_text("2027-01-01");
  question.options.limits.deadline = date_from_text("2027-02-09");
  EXPECT_EQ(days_allowed(question.options), 40.0);
  const CapacityAnswer answer = rows_of(question);
  for (const CapacityRow& row : answer.rows) {
    EXPECT_EQ(row.keeps_limits(), row.run.days.p90 <= 40.0) << row.gpus;
    if (row.keeps_limits()) continue;
    EXPECT_THAT(row.broken_limits.front(), testing::HasSubstr("after the deadline 2027-02-09"));
  }
}

// A plan's own layout stands in its row, the fastest or not.
TEST(CapacityAnswer, APlansLayoutStandsInItsRow) {
  const CapacityQuestion question = small_question();
  Plan plan = search({question.model, small_cluster(2, 80), small_job()}, {});
  plan.ranked.erase(plan.ranked.begin());
  const CapacityAnswer answer = capacity_answer(capacity_question_of(plan, {}, {8, 16}), false);
  ASSERT_TRUE(answer.planned);
  EXPECT_EQ(answer.rows[*answer.planned].main_phase().estimate.layout, plan.ranked.front().layout);
}

}  // namespace
}  // namespace meshwright::planner
