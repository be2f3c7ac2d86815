// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/refit.h"

#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

const std::vector<FrameworkScalar> kFactors{FrameworkScalar::gemm_time_factor,
                                            FrameworkScalar::collective_time_factor};

// Runs of one model as a framework with these factors would make them.
MeasuredSet made_with(double gemm, double collective) {
  MeasuredSet set;
  set.name = "made";
  for (const int tensor : {1, 2, 4, 8}) {
    for (const int variant : {0, 1, 2, 3, 4, 5}) {
      const int micro_batch = 1 << (variant / 2);
      MeasuredRun run;
      run.group = std::to_string(micro_batch);
      run.model = small_model();
      run.cluster = small_cluster(1, 80);
      run.job = small_job();
      run.layout.tensor_parallel_size = tensor;
      run.layout.data_parallel_size = 8 / tensor;
      run.layout.micro_batch_size = micro_batch;
      run.layout.zero_stage = variant % 2;
      Cluster real = run.cluster;
      real.framework.gemm_time_factor = gemm;
      real.framework.collective_time_factor = collective;
      CostTable table({run.model, real, run.job});
      run.step_time = evaluate(table, run.layout, MemoryLimit::reported).step_time;
      set.runs.push_back(run);
    }
  }
  return set;
}

TEST(Refit, FindsTheFactorsThatMadeTheRuns) {
  const Refit found = refit(made_with(1.2, 1.5), kFactors);
  EXPECT_EQ(found.runs, 24);
  EXPECT_NEAR(found.framework.gemm_time_factor, 1.2, 0.01);
  EXPECT_NEAR(found.framework.collective_time_factor, 1.5, 0.05);
  EXPECT_LT(found.residual_spread, 0.01);
  EXPECT_GT(found.scalars[0].learnt, 0.9);
}

// Six of 24 runs took half as long again: the robust spread hears little of them, the interval's
// spread must reach them.
TEST(Refit, SpreadReachesNineOfTenRuns) {
  MeasuredSet set = made_with(1.2, 1.5);
  for (std::size_t i = 0; i < set.runs.size(); i += 4) {
    set.runs[i].step_time = *set.runs[i].step_time * 1.5;
  }
  const Refit found = refit(set, kFactors);
  for (MeasuredRun& run : set.runs) run.cluster.framework = found.framework;
  EXPECT_GE(*backtest(set).overall.interval_coverage_percent, 90.0);
  EXPECT_GT(found.framework.relative_spread, found.residual_spread);
}

// One device moves nothing: the collective factor keeps its prior, 1, with the prior's width, 0.3.
TEST(Refit, KeepsThePriorWhereTheDataSayNothing) {
  MeasuredSet set = made_with(1.2, 1.5);
  for (MeasuredRun& run : set.runs) {
    run.layout.tensor_parallel_size = 1;
    run.layout.data_parallel_size = 1;
    run.cluster = scaled_to(run.cluster, 1);
    CostTable table(run);
    run.step_time = evaluate(table, run.layout, MemoryLimit::reported).step_time * 1.1;
  }
  const Refit found = refit(set, kFactors);
  EXPECT_GT(found.framework.gemm_time_factor, 1.05);
  EXPECT_DOUBLE_EQ(found.framework.collective_time_factor, 1.0);
  EXPECT_NEAR(found.scalars[1].relative_standard_error, 0.3, 1e-9);
  EXPECT_NEAR(found.scalars[1].learnt, 0.0, 1e-9);
}

TEST(Refit, ASingleRunIsEnoughToMoveALittle) {
  MeasuredSet set = made_with(1.2, 1.5);
  set.runs.resize(1);
  const Refit found = refit(set, kFactors);
  EXPECT_GT(found.framework.gemm_time_factor, 1.0);
  EXPECT_LT(found.framework.gemm_time_factor, 1.25);
}

TEST(Refit, RefusesASetWithoutTimes) {
  MeasuredSet set = made_with(1.2, 1.5);
  for (MeasuredRun& run : set.runs) run.step_time.reset();
  EXPECT_THROW(refit(set, kFactors), InputError);
}

// Group "1" was made with another factor than "2" and "4". With three parts it is judged by a fit
// on the two others, which never saw 2.0.
TEST(FittedOnOtherGroups, JudgesAGroupByWhatTheOthersTaught) {
  MeasuredSet set = made_with(1.2, 1.0);
  const MeasuredSet odd = made_with(2.0, 1.0);
  for (std::size_t i = 0; i < set.runs.size(); ++i) {
    if (set.runs[i].group == "1") set.runs[i].step_time = odd.runs[i].step_time;
  }
  const MeasuredSet judged = fitted_on_other_groups(set, {FrameworkScalar::gemm_time_factor}, 3);
  ASSERT_EQ(judged.runs[0].group, "1");
  EXPECT_NEAR(judged.runs[0].cluster.framework.gemm_time_factor, 1.2, 0.01);
  ASSERT_EQ(judged.runs[2].group, "2");
  EXPECT_GT(judged.runs[2].cluster.framework.gemm_time_factor, 1.3);
  EXPECT_THROW(fitted_on_other_groups(set, kFactors, 4), InputError);
  EXPECT_THROW(fitted_on_other_groups(set, kFactors, 1), InputError);
}

// Half of the runs are another software's, whose collectives take twice as long and stay so: what
// is fitted is fitted beside that, and each run keeps its own software.
TEST(FittedOnOtherGroups, LeavesEachRunItsOwnSoftware) {
  MeasuredSet set = made_with(1.2, 1.0);
  const MeasuredSet slower = made_with(1.2, 2.0);
  for (std::size_t i = 0; i < set.runs.size(); i += 2) {
    set.runs[i].step_time = slower.runs[i].step_time;
    set.runs[i].cluster.framework.name = "slower";
    set.runs[i].cluster.framework.collective_time_factor = 2.0;
  }
  const MeasuredSet judged = fitted_on_other_groups(set, {FrameworkScalar::gemm_time_factor}, 3);
  for (std::size_t i = 0; i < judged.runs.size(); ++i) {
    const Framework& framework = judged.runs[i].cluster.framework;
    EXPECT_EQ(framework.name, i % 2 == 0 ? "slower" : "");
    EXPECT_EQ(framework.collective_time_factor, i % 2 == 0 ? 2.0 : 1.0);
    EXPECT_NEAR(framework.gemm_time_factor, 1.2, 0.01);
  }
}

}  // namespace
}  // namespace meshwright::planner
