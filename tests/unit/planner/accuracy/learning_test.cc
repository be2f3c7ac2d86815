// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/learning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/accuracy/learning_curve.h"
#include "sim/hardware/interval_regime.h"
#include "sim/step/evaluate.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

// A machine whose GEMMs take 1.3 times and whose collectives take 1.5 times as long.
MeasuredSet slow_machine() {
  MeasuredSet set;
  set.name = "slow";
  for (const int tensor : {1, 2, 4, 8}) {
    for (const int micro_batch : {1, 2, 4}) {
      MeasuredRun run;
      run.group = "one";
      run.model = small_model();
      run.cluster = small_cluster(1, 80);
      run.job = small_job();
      run.layout.tensor_parallel_size = tensor;
      run.layout.data_parallel_size = 8 / tensor;
      run.layout.micro_batch_size = micro_batch;
      Cluster real = run.cluster;
      real.framework.gemm_time_factor = 1.3;
      real.framework.collective_time_factor = 1.5;
      CostTable table({run.model, real, run.job});
      run.step_time = evaluate(table, run.layout, MemoryLimit::reported).step_time;
      set.runs.push_back(run);
    }
  }
  return set;
}

// (2 x 0.1^2 + 0.03^2 + 0.04^2) / (2 + 2) = 0.0225 / 4: 0.075.
TEST(PosteriorOwn, MixesThePriorAndTheRuns) {
  EXPECT_NEAR(posterior_own({0.03, -0.04}, 0.1, 2.0), 0.075, 1e-12);
  EXPECT_NEAR(posterior_own({}, 0.1, 2.0), 0.1, 1e-12);
}

// Student's 95 % quantile: 2.920 with two degrees; 0.1 x 2.920 / 1.645 = 0.1775.
TEST(UnseenOwn, IsWiderThanTheTypicalMachines) { EXPECT_NEAR(unseen_own(0.1, 2.0), 0.1775, 1e-4); }

// One scalar of prior deviation 0.2 and two runs of derivative 1 with own 0.1: S = 1 / (25 + 100 +
// 100) = 1 / 225, h = 100 / 225 each. A run that the scalar does not move has none.
TEST(Leverages, AreWhatARunSaysOfItself) {
  const auto h = leverages_of({{1.0}, {1.0}, {0.0}}, {0.2}, 0.1);
  EXPECT_NEAR(h[0], 100.0 / 225.0, 1e-12);
  EXPECT_NEAR(h[1], 100.0 / 225.0, 1e-12);
  EXPECT_NEAR(h[2], 0.0, 1e-12);
}

// Candidates that lean on scalar 0, on scalar 1, and on 1 at ten times the cost. Prior deviations 1
// and 0.1: scalar 0 is the one to learn; then the cheaper of the two that lean on 1.
TEST(MostTelling, AsksForWhatIsLeastKnownAndCheap) {
  const std::vector<CandidateStep> candidates{
      {10.0, {0.0, 1.0}, 0}, {1.0, {0.0, 1.0}, 1}, {1.0, {1.0, 0.0}, 2}, {1.0, {1.0, 0.0}, 3}};
  const auto picked = most_telling(candidates, {1.0, 0.1}, 0.01, 3);
  ASSERT_EQ(picked.size(), 3U);
  EXPECT_EQ(picked[0], 2U);
  EXPECT_EQ(picked[1], 1U);
}

TEST(Learn, FiveRunsTeachTheRest) {
  const CurvePoint none = known_point(slow_machine(), {});
  const CurvePoint five =
      known_point(slow_machine(), runs_to_make(slow_machine(), all_framework_scalars(), 5));
  EXPECT_EQ(five.runs, 5);
  EXPECT_GT(none.median_error_percent, 15.0);
  EXPECT_LT(five.median_error_percent, none.median_error_percent / 5.0);
  EXPECT_LT(five.width_percent, none.width_percent);
  EXPECT_EQ(*five.regret_percent, 0.0);
}

TEST(Learn, MakesAMachineOfItsOwnRegime) {
  const MeasuredSet set = slow_machine();
  const Cluster found = with_learnt(set.runs[0].cluster, learn(set, all_framework_scalars(), set));
  EXPECT_EQ(interval_regime(set.runs[0].cluster), IntervalRegime::unknown_chip);
  EXPECT_EQ(interval_regime(found), IntervalRegime::profiled_machine);
  EXPECT_TRUE(found.fit_holds());
  EXPECT_EQ(found.fit.learnt_runs, 12);
  EXPECT_GT(found.fit.relative_spread, 0.0);
}

// Before any run, each once.
TEST(RunsToMake, AreLayoutsOfThePlan) {
  const Plan plan = search({small_model(), small_cluster(1, 80), small_job()}, {});
  std::vector<std::size_t> runs = runs_to_make(plan, 5);
  ASSERT_EQ(runs.size(), 5U);
  std::sort(runs.begin(), runs.end());
  EXPECT_EQ(std::unique(runs.begin(), runs.end()), runs.end());
  EXPECT_LT(runs.back(), plan.ranked.size());
  EXPECT_TRUE(runs_to_make(plan, 0).empty());
}

TEST(LearningCurve, IsTheSameEachTime) {
  const LearningCurve a = learning_curve(slow_machine(), {0, 2, 50}, 2);
  const LearningCurve b = learning_curve(slow_machine(), {0, 2, 50}, 2);
  ASSERT_EQ(a.telling.size(), 2U);  // 50 leave nothing to predict
  EXPECT_EQ(a.random[1].median_error_percent, b.random[1].median_error_percent);
  EXPECT_EQ(a.telling[1].median_error_percent, b.telling[1].median_error_percent);
}

}  // namespace
}  // namespace meshwright::planner
