// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/records/report.h"
#include "reports/sections/decision_table.h"
#include "tests/unit/reports/answered_plan.h"
#include "tests/unit/reports/report_fixture.h"
#include "tests/unit/reports/schema_check.h"

namespace meshwright::reports {
namespace {

// 0.80 s a step of 64 x 2048 = 131072 tokens; 1e11 tokens take 762940 steps (762939.45), 610352 s,
// which are 7.06 days; times 16 GPUs 2713 GPU-hours (610352 x 16 / 3600 = 2712.6756).
TEST(ReportRecord, HeadlineSaysLayoutTimeMemoryAndTraining) {
  const Json report = sample_report();
  const Json& summary = report["summary"];
  EXPECT_EQ(summary["step_time_seconds"], 0.8);
  EXPECT_EQ(summary["tokens_per_step"], 131072);
  EXPECT_NEAR(summary["train_seconds"].get<double>(), 610352.0, 1e-6);
  EXPECT_NEAR(summary["gpu_hours"].get<double>(), 2712.675556, 1e-6);
  EXPECT_EQ(summary["memory_headroom"], 0.5);  // 4 + 8 + 16 + 10 + 2 = 40 of 80 GiB
  EXPECT_THAT(report["decision"]["recommendation"].get<std::string>(),
              testing::AllOf(testing::HasSubstr("gpt-small"), testing::HasSubstr("800.0 ms"),
                             testing::HasSubstr("41.0 %"), testing::HasSubstr("40.0 GiB")));
  // 0.20 forward and 0.05 bubble of 0.80 s are measured.
  EXPECT_NEAR(summary["provenance_shares"]["measured"].get<double>(), 0.3125, 1e-12);
}

// A search found the recommended count, 128 GPUs; a change that only a rule would allow is not
// recommended.
TEST(ReportRecord, RecommendsWhatFitsWhereNothingDoes) {
  ReportContents contents = sample_contents();
  contents.plan.ranked.clear();
  contents.plan.pareto.clear();
  std::vector<CapacityRow>& rows = contents.capacity.rows;
  rows.push_back(rows.front());
  rows.front().fits = false;
  rows.back().gpus = 128;
  rows.back().layout = "tp2 pp64";
  rows.back().step.mid = seconds(1.25);
  const Json report = report_json(contents);
  EXPECT_EQ(complaint("report", plain(report)), "");
  EXPECT_THAT(
      report["verdict"].get<std::string>(),
      testing::AllOf(testing::HasSubstr("a layout that fits is 128 GPUs: tp2 pp64. A step takes "
                                        "1.250 s, and "),
                     testing::HasSubstr("it is no plan")));
  EXPECT_TRUE(report["capacity"]["recommended"].is_null());
  EXPECT_THAT(decision_table(contents.capacity, DeviceKind::gpu),
              testing::Not(testing::HasSubstr("★")));
}

// The plan's own layout stands in its row: 762940 steps of 0.80 s are 7.06 days of productive time,
// 7.08 with failures and saves.
TEST(ReportRecord, TheDecisionHasRangesOfTimeAndCost) {
  planner::Plan plan = sample_plan();
  plan.cluster.price_per_gpu_hour = 2.0;
  const Json report = report_json(contents_of(plan));
  EXPECT_EQ(complaint("report", plain(report)), "");
  const Json& row = report["capacity"]["rows"][0];
  EXPECT_EQ(row["gpus"], 16);
  EXPECT_EQ(row["layout_name"], report["summary"]["short_name"]);
  EXPECT_NEAR(row["time"]["productive_s"].get<double>(), 610352.0, 1e-6);
  EXPECT_LT(row["days"]["p10"], row["days"]["p50"]);
  EXPECT_LT(row["cost"]["p50"], row["cost"]["p90"]);
  EXPECT_THAT(report["capacity"]["verdict"].get<std::string>(),
              testing::HasSubstr("16 GPUs of two nodes finish 100 G tokens in 7.08 days"));
  EXPECT_THAT(report["verdict"].get<std::string>(), testing::StartsWith("No row is recommended"));
}

TEST(ReportRecord, WithoutTokensTheDecisionIsInTokensPerSecond) {
  planner::Plan plan = sample_plan();
  plan.job.train_tokens.reset();
  const Json report = report_json(contents_of(plan));
  EXPECT_EQ(complaint("report", plain(report)), "");
  EXPECT_FALSE(report["decision"]["tokens_are_the_jobs"].get<bool>());
  EXPECT_THAT(report["verdict"].get<std::string>(),
              testing::AllOf(testing::HasSubstr("tokens/s"), testing::HasSubstr("for 1 T tokens")));
}

// The table has the rows of the capacity answer, and its verdict is above it.
TEST(ReportRecord, TheDecisionIsTheCapacityAnswersWhereThereIsOne) {
  ReportContents contents = sample_contents();
  contents.capacity.headline = "16 GPUs finish.";
  contents.capacity.not_included = {"evaluation"};
  CapacityRow& row = contents.capacity.rows.front();
  row.cost.emplace().currency = "USD";
  const Json report = report_json(contents);
  EXPECT_EQ(complaint("report", plain(report)), "");
  EXPECT_EQ(report["verdict"], "16 GPUs finish.");
  EXPECT_EQ(report["decision"]["currency"], "USD");
  EXPECT_EQ(report["left_out"][0], "Not modelled: evaluation.");
}

std::string certainty_text(const Json& report, std::string_view id) {
  for (const Json& item : report["certainty"]) {
    if (item["id"] == id) return item["text"].get<std::string>();
  }
  return "";
}

// One statement: of the plan's confidence, and after a trial of the trial; never of raw intervals.
TEST(ReportRecord, CertaintyComesFromTheConfidenceAndThenFromTheTrial) {
  const AnsweredPlan a = answered_plan();
  ReportContents contents = contents_of(a.plan);
  contents.answers = answers_of(a.answers, a.plan);
  const std::string layout = certainty_text(report_json(contents), "layout");
  EXPECT_THAT(layout, testing::HasSubstr("Open. Layout #1 is the fastest of 20 contenders"));
  planner::LayoutComparison run;
  run.observation.layout = run.observation.run_layout = contents.plan.ranked[0].layout;
  run.observation.step_time = seconds(0.75);
  run.observation.step_time_p10 = seconds(0.60);
  run.observation.step_time_p90 = seconds(0.90);
  run.predicted = contents.plan.ranked[0];
  contents.validation.emplace();
  contents.validation->layouts = {run, run};
  contents.validation->median_absolute_error = 0.05;
  contents.validation->regret = 0.02;
  const Json tried = report_json(contents);
  EXPECT_EQ(complaint("report", plain(tried)), "");
  EXPECT_EQ(certainty_text(tried, "layout"), "");
  EXPECT_THAT(certainty_text(tried, "trial"),
              testing::AllOf(testing::HasSubstr("2 layouts were executed"),
                             testing::HasSubstr("5.0 % in the median"),
                             testing::HasSubstr("2.0 % slower")));
  EXPECT_THAT(certainty_text(tried, "host_noise"), testing::HasSubstr("40.0 %"));  // 0.3 of 0.75
}

// 16 GPUs in two nodes; the sample's groups stay inside a node, so that no network counts.
TEST(ReportRecord, RestsOnWhatTheBestLayoutUses) {
  const Json report = sample_report();
  ASSERT_FALSE(report["rests_on"].empty());
  EXPECT_EQ(report["rests_on"][0]["parameter"], "intra_node_bandwidth");
  EXPECT_EQ(report["rests_on"][0]["value"], 450.0);
  EXPECT_EQ(report["rests_on"][0]["provenance"], "datasheet");
}

// 0.05 s of the sample's 0.80 s are datasheet: the weakest source of 1/16 of the step.
TEST(ReportRecord, TheWeakestSourceSaysHowMuchOfTheStepRestsOnIt) {
  const Json ranked = sample_report()["ranked"][0];
  EXPECT_EQ(ranked["provenance"], "datasheet");
  EXPECT_NEAR(ranked["provenance_share"].get<double>(), 0.0625, 1e-12);
}

// All terms grow by a quarter: the largest difference is backward's, 0.40 s -> 0.50 s.
TEST(ReportRecord, SaysWhyALayoutBeatsTheNext) {
  const Json compared = sample_report()["ranked"][0]["compared_with_next"];
  EXPECT_EQ(compared["sentence"], "25.0 % faster: 100.0 ms less backward compute.");
  EXPECT_NEAR(compared["seconds"].get<double>(), 0.2, 1e-12);
  EXPECT_EQ(compared["terms"][0]["name"], "backward_compute");
}

TEST(ReportRecord, ShowsLayoutsThatAreTooLargeWithTheReason) {
  ReportContents contents = sample_contents();
  contents.plan.cluster.device.memory = gibibytes(2.5);
  contents.sizes = planner::size_map(contents.plan, {});
  const Json report = report_json(contents);
  ASSERT_FALSE(report["too_large"].empty());
  for (const Json& point : report["too_large"]) {
    EXPECT_GT(point["peak_memory_bytes"].get<double>(), gibibytes(2.5).value());
    EXPECT_GT(point["step_time_seconds"].get<double>(), 0.0);
    EXPECT_THAT(point["reason"].get<std::string>(), testing::HasSubstr("GiB"));
  }
}

}  // namespace
}  // namespace meshwright::reports
