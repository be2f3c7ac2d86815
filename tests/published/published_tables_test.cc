// SPDX-License-Identifier: Apache-2.0
// Predicted against published step times (configs/datasets, each with its citation). The limits are
// what the model reaches today, rounded up; they may only be tightened. What was fitted on what
// stands in each cluster's "framework" and in docs/model.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "app/measurements.h"
#include "planner/accuracy/backtest.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

planner::Backtest run(const std::string& name) {
  return planner::backtest(app::load_measurements(std::string(MESHWRIGHT_SOURCE_DIR) +
                                                  "/configs/datasets/" + name + ".json"));
}

void expect_errors_below(const planner::Score& score, double mean, double worst) {
  fmt::print("{} runs: mean {:.2f} %, worst {:.2f} %, bias {:.2f} %\n", score.runs,
             score.mean_ape_percent, score.max_ape_percent, score.bias_percent);
  EXPECT_LE(score.mean_ape_percent, mean);
  EXPECT_LE(score.max_ape_percent, worst);
}

TEST(PublishedTables, Korthikanti2022Table5) {
  // Aim: mean 2.5, worst 6 (Calculon: 3.65 and 8.87). Three factors fitted on these nine runs.
  const planner::Backtest found = run("korthikanti-2022-table-5");
  EXPECT_EQ(found.overall.runs, 9);
  expect_errors_below(found.overall, 1.3, 2.9);
  EXPECT_EQ(found.overall.kendall_tau, 1.0);
}

TEST(PublishedTables, ZeroBubble2024SchedulesKeepTheirOrder) {
  // Two scalars fitted on these runs. The fastest schedule is named in every group; tau misses one
  // pair in one group: at m = 128 1F1B-I and ZB-1p lie within 6 % of each other.
  const planner::Backtest found = run("zero-bubble-2024-tables-4-5");
  EXPECT_EQ(found.overall.runs, 24);
  expect_errors_below(found.overall, 1.6, 4.8);
  EXPECT_GE(*found.overall.kendall_tau, 0.94);
  EXPECT_EQ(found.overall.top1_regret_percent_max, 0.0);
  EXPECT_LE(*found.overall.memory_median_ape_percent, 2.0);  // ZB-2p is 4 to 6 % too low
}

TEST(PublishedTables, Narayanan2021Table1IsNotFitted) {
  // Micro-batch size and chunks are not in the table. 1F1B is assumed although the paper says that
  // it interleaves.
  const planner::Score score = run("narayanan-2021-table-1").overall;
  EXPECT_EQ(score.runs, 10);
  expect_errors_below(score, 3.0, 9.9);
  EXPECT_GE(*score.interval_coverage_percent, 85.0);
}

TEST(PublishedTables, Narayanan2021Table2RanksPipelineBeforeZero3) {
  // ZeRO-3 with DeepSpeed's framework of 2021: linears gathered one ahead over one rail, and again
  // for layers that run again. The pipelines with Megatron-LM's. Nothing is fitted.
  const planner::Score score = run("narayanan-2021-table-2").overall;
  expect_errors_below(score, 3.9, 10.8);
  EXPECT_EQ(score.kendall_tau, 1.0);
}

TEST(PublishedTables, MtNlg2022IsNotFitted) {
  // Megatron-DeepSpeed with the two scalars that BLOOM's trials on another cluster gave: 126
  // TFLOP/s a GPU in that run, 163 for the same model with Megatron-LM in Narayanan 2021.
  const planner::Score score = run("mt-nlg-2022").overall;
  expect_errors_below(score, 3.9, 5.6);
  EXPECT_EQ(score.kendall_tau, 1.0);
}

TEST(PublishedTables, MegatronBridgeDenseInFp8) {
  // One scalar for all H100, B200 and GB200, fitted on these runs; held out by group the mean is
  // 4.2 %.
  const planner::Score score = run("megatron-bridge-fp8-dense").overall;
  EXPECT_EQ(score.runs, 22);
  expect_errors_below(score, 3.8, 10.2);
}

TEST(PublishedTables, MegatronBridgeExpertsInFp8DependOnTheRelease) {
  // Known miss: one layout's step almost halves from one release of the software to another.
  const planner::Score score = run("megatron-bridge-fp8-experts").overall;
  EXPECT_EQ(score.runs, 19);
  expect_errors_below(score, 28.0, 66.0);
}

TEST(PublishedTables, NemoContextParallelIsNotFitted) {
  // 4 Ki to 1 Mi positions on 4 to 1,024 GPUs; the scalar is Megatron Bridge's.
  const planner::Score score = run("nemo-context-parallel").overall;
  EXPECT_EQ(score.runs, 9);
  expect_errors_below(score, 11.0, 16.5);
  EXPECT_GE(*score.kendall_tau, 0.83);
}

TEST(PublishedTables, Llama3OnSixteenThousandGpusIsNotFitted) {
  // In bf16, with the scalar that fp8 runs gave. Known miss: the runs kept all activations, which
  // are predicted not to fit.
  expect_errors_below(run("llama-3-2024-table-4").overall, 9.3, 9.5);
}

TEST(PublishedTables, EveryRunOfASetWithAResultIsPredictedToFit) {
  for (const char* name :
       {"korthikanti-2022-table-5", "zero-bubble-2024-tables-4-5", "mt-nlg-2022"}) {
    const planner::Backtest found = run(name);
    EXPECT_EQ(found.overall.oom_confusion.ok_oom, 0) << name;
  }
}

}  // namespace
}  // namespace meshwright
