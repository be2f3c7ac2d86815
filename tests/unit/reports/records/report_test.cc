// SPDX-License-Identifier: Apache-2.0
#include "reports/records/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/kernel_time/gemm_model.h"
#include "tests/unit/reports/report_fixture.h"
#include "tests/unit/reports/schema_check.h"

namespace meshwright::reports {
namespace {

TEST(ReportRecord, ObeysItsSchema) { EXPECT_EQ(complaint("report", plain(sample_report())), ""); }

TEST(ReportRecord, ObeysItsSchemaWithValidationAndProfile) {
  ReportContents contents = sample_contents();
  planner::LayoutComparison run;
  run.observation.layout = contents.plan.ranked[0].layout;
  run.observation.run_layout = contents.plan.ranked[0].layout;
  run.observation.step_time = seconds(0.75);
  run.predicted = contents.plan.ranked[0];
  run.error = 0.80 / 0.75 - 1.0;
  run.inside_interval = true;
  run.terms = {{TermKind::forward_compute, seconds(0.2), seconds(0.19)}};
  contents.validation.emplace();
  contents.validation->layouts = {run};
  contents.launch = {{"Megatron-LM", "commit", "run.sh", "torchrun\n", {"a note"}, ""},
                     {"DeepSpeed", "commit", "ds.json", "", {}, "no pipeline"}};
  contents.profile = {{"schema", "meshwright.profile/1"},
                      {"created", "2026-01-01T00:00:00Z"},
                      {"command", "meshwright calibrate"},
                      {"measurements",
                       {{{"kind", "gemm"}, {"median_seconds", 2e-3}, {"relative_spread", 0.02}},
                        {{"kind", "gemm"}, {"median_seconds", 1e-3}, {"relative_spread", 0.01}},
                        {{"kind", "collective"},
                         {"median_seconds", 4e-3},
                         {"relative_spread", 0.3},
                         {"noisy", true}}}},
                      {"ranks",
                       {{{"rank", 0},
                         {"local_rank", 0},
                         {"host", "a"},
                         {"gemm", 1.0},
                         {"memory", 1.0},
                         {"network", 1.0}},
                        {{"rank", 1},
                         {"local_rank", 1},
                         {"host", "a"},
                         {"gemm", 1.3},
                         {"memory", 1.0},
                         {"network", 1.0}}}},
                      {"stragglers",
                       {{{"what", "gemm"},
                         {"rank", 1},
                         {"relative_time", 1.3},
                         {"score", 9.0},
                         {"sentence", "rank 1 takes 1.3 times as long"}}}},
                      {"notes", {"gemm fp32 8 x 8 x 8 is noisy"}}};
  const Json report = report_json(contents);
  EXPECT_EQ(complaint("report", plain(report)), "");
  EXPECT_EQ(report["calibration"]["profile"]["measured_points"], 3);
  EXPECT_EQ(report["calibration"]["flagged"][0], "gemm fp32 8 x 8 x 8 is noisy");
  // Spreads 0.01, 0.02, 0.3: half repeat within 2 %.
  const Json& noise = report["calibration"]["noise"];
  EXPECT_EQ(noise["sentence"],
            "3 points were timed. One standard deviation of a point is 2.0 % of its time in the "
            "median and 30.0 % at worst. 1 stayed noisy when measured a second time.");
  EXPECT_EQ(noise["kinds"][0]["kind"], "collective");
  EXPECT_EQ(noise["kinds"][1]["num_points"], 2);
  EXPECT_EQ(report["calibration"]["devices"]["sentence"],
            "1 of 2 ranks or links are slower than their peers. A job runs at the speed of the "
            "slowest.");
}

TEST(ReportRecord, ObeysItsSchemaWhenNothingFits) {
  ReportContents contents = sample_contents();
  contents.plan.ranked.clear();
  contents.plan.pareto.clear();
  const Json report = report_json(contents);
  EXPECT_EQ(complaint("report", plain(report)), "");
  EXPECT_THAT(
      report["verdict"].get<std::string>(),
      testing::AllOf(testing::HasSubstr("No layout"), testing::HasSubstr("needs 96 GiB of 80 GiB"),
                     testing::Not(testing::HasSubstr("tensor_parallel_size 2"))));
}

TEST(ReportRecord, SchemaRefusesAMissingPart) {
  Json report = plain(sample_report());
  report.erase("verdict");
  EXPECT_NE(complaint("report", report), "");
  report = plain(sample_report());
  report["ranked"][0]["provenance"] = "guessed";
  EXPECT_NE(complaint("report", report), "");
}

TEST(ReportRecord, IsReadBackAsItWasWritten) {
  const Json report = plain(sample_report());
  EXPECT_EQ(report_record().write(report_from_json(report, "r.json")), report);
}

TEST(ReportRecord, ReadingNamesWhatIsMissingUnknownOrOfAnotherKind) {
  const auto complaint_about = [](const Json& report) -> std::string {
    try {
      static_cast<void>(report_from_json(report, "r.json"));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  Json report = plain(sample_report());
  report["volume"].erase("stage");
  EXPECT_EQ(complaint_about(report), "r.json: /volume/stage: is required and missing");
  report = plain(sample_report());
  report["memory"]["stages"][0]["weights_gib"] = 4.0;
  EXPECT_THAT(complaint_about(report), testing::HasSubstr("r.json: /memory/stages/0/weights_gib"));
  report["schema"] = "meshwright.report/0";
  EXPECT_THAT(complaint_about(report), testing::HasSubstr("r.json: /schema"));
}

TEST(ReportRecord, IsTheSameTextEveryTime) {
  EXPECT_EQ(report_json(searched_contents()).dump(), sample_report().dump());
}

// The first product of the MLP is 2,048 tokens x 1,024 x 4,096, half of it on each of two tensor
// ranks: 2 x 2,048 x 1,024 x 2,048 FLOPs.
TEST(ReportRecord, TheRooflineHasTheOperatorsOfALayer) {
  const Json& roofline = sample_report()["roofline"];
  EXPECT_DOUBLE_EQ(roofline["peak_flops_per_second"].get<double>(), 989e12);
  bool found = false;
  for (const Json& op : roofline["operators"]) {
    found = found || op["flops"].get<double>() == 2.0 * 2048 * 2048 * 1024;
  }
  EXPECT_TRUE(found);
}

// A point that took exactly as long as the model says has no residual; one that took twice as long
// has -50 %.
TEST(ReportRecord, MeasuredPointsStandBesideTheFit) {
  ReportContents contents = sample_contents();
  GemmModel& gemm = contents.plan.cluster.device.gemm.front();
  const GemmShape shape{.batch = 1, .m = 512, .n = 512, .k = 512};
  const Seconds fitted = gemm_model_time(shape, gemm, contents.plan.cluster.device);
  gemm.points = {
      {.batch = 1, .m = 512, .n = 512, .k = 512, .time = fitted, .relative_spread = 0.01},
      {.batch = 1, .m = 512, .n = 512, .k = 512, .time = fitted * 2.0, .relative_spread = 0.3}};
  const Json report = report_json(contents);
  EXPECT_EQ(complaint("report", plain(report)), "");
  const Json& series = report["calibration"]["measured"][0];
  EXPECT_EQ(series["points"][0]["residual"], 0.0);
  EXPECT_FALSE(series["points"][0]["noisy"].get<bool>());
  EXPECT_EQ(series["points"][1]["residual"], -0.5);
  EXPECT_TRUE(series["points"][1]["noisy"].get<bool>());
  // The root of (0^2 + ln(2)^2) / 2.
  EXPECT_NEAR(series["typical_residual"].get<double>(), 0.490129, 1e-6);
}

}  // namespace
}  // namespace meshwright::reports
