// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/reliability.h"

#include <gtest/gtest.h>

#include "sim/step/evaluate.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

// (0.9 - 1)^2 + (0.8 - 0)^2 + (0.1 - 0)^2 = 0.66, a third of it 0.22.
TEST(Reliability, IsTheBrierScoreAndHowOftenItWasSo) {
  const Reliability found = reliability({{0.9, true}, {0.8, false}, {0.1, false}});
  EXPECT_EQ(found.count, 3);
  EXPECT_NEAR(found.brier, 0.22, 1e-12);
  ASSERT_EQ(found.bins.size(), 5U);
  EXPECT_EQ(found.bins.back().count, 2);  // from 80 %
  EXPECT_NEAR(found.bins.back().mean_probability, 0.85, 1e-12);
  EXPECT_NEAR(found.bins.back().frequency, 0.5, 1e-12);
  EXPECT_EQ(found.bins.front().count, 1);
}

TEST(Reliability, CertaintyIsInTheLastBin) {
  EXPECT_EQ(reliability({{1.0, true}}).bins.back().count, 1);
}

// Runs that took what is predicted: the choice was right and lost nothing.
TEST(JudgedChoices, RanksAGroupAsAPlanDoes) {
  MeasuredSet set;
  for (const int tensor : {1, 2, 4, 8}) {
    MeasuredRun run;
    run.group = "one";
    run.model = small_model();
    run.cluster = small_cluster(1, 80);
    run.job = small_job();
    run.layout.tensor_parallel_size = tensor;
    run.layout.data_parallel_size = 8 / tensor;
    CostTable table(run);
    run.step_time = evaluate(table, run.layout, MemoryLimit::reported).step_time;
    set.runs.push_back(run);
  }
  const JudgedChoices found = judged_choices(set);
  ASSERT_EQ(found.choices.size(), 1U);
  EXPECT_EQ(found.pairs.size(), 3U);
  EXPECT_TRUE(found.choices[0].was_fastest);
  EXPECT_EQ(found.choices[0].real_loss, 0.0);
  EXPECT_GE(found.choices[0].probability, 0.25);
  // Another job is another question.
  set.runs.back().job.global_batch_size *= 2;
  EXPECT_TRUE(judged_choices(set).choices.empty());
}

}  // namespace
}  // namespace meshwright::planner
