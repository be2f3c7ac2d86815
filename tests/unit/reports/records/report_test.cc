// SPDX-License-Identifier: Apache-2.0
#include "reports/records/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/sections/decision_table.h"
#include "sim/base/error.h"
#include "sim/kernel_time/gemm_model.h"
#include "tests/unit/reports/answered_plan.h"
#include "tests/unit/reports/capacity_fixture.h"
#include "tests/unit/reports/schema_check.h"

namespace meshwright::reports {
namespace {

ReportContents searched_contents() {
  ReportContents contents = contents_of(sample_plan());
  contents.sizes = planner::size_map(contents.plan, {});
  contents.scaling = planner::scaling_around(contents.plan, {});
  return contents;
}
// Searched for once.
ReportContents sample_contents() {
  static const ReportContents contents = searched_contents();
  return contents;
}

Json report_json(const ReportContents& contents) {
  return report_record().write(report_of(contents));
}

const Json& sample_report() {
  static const Json report = report_json(sample_contents());
  return report;
}

TEST(ReportRecord, ObeysItsSchema) { EXPECT_EQ(complaint("report", plain(sample_report())), ""); }

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

// Rank 0 sends 64 x 4,194,304 B to its tensor peer 1 (a ring of two sends 2 x 1/2 of the payload).
TEST(ReportRecord, RanksSendToTheNextOfTheirRing) {
  const Json& matrix = sample_report()["volume"]["matrix"];
  EXPECT_EQ(matrix["ranks_per_group"], 1);
  EXPECT_EQ(matrix["groups"], 16);
  EXPECT_EQ(matrix["cells"][0], Json::array({0, 1, 268435456.0}));
}

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
  EXPECT_THAT(layout, testing::HasSubstr("Expected loss against the fastest layout"));
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

TEST(ReportRecord, VolumeAddsUpOverGroups) {
  const Json volume = sample_report()["volume"];
  double sum = 0.0;
  for (const Json& group : volume["groups"]) sum += group["sent_bytes"].get<double>();
  EXPECT_DOUBLE_EQ(sum, volume["sent_bytes"].get<double>());
  // Tensor: 64 calls of 4 MiB over 2 ranks, 2 (2-1)/2 = 1 times the payload is sent.
  EXPECT_EQ(volume["groups"][0]["group"], "tensor");
  EXPECT_EQ(volume["groups"][0]["sent_bytes"], 64 * 4194304.0);
}

TEST(ReportRecord, TheTimelineGoesToTheStepsEndWithCommunicationApart) {
  const AnsweredPlan a = answered_plan();
  ReportContents contents = sample_contents();
  contents.plan = a.plan;
  Layout layout{.tensor_parallel_size = 2, .pipeline_parallel_size = 2, .data_parallel_size = 4};
  const Outcome found = estimate(contents.plan, layout);
  contents.plan.ranked = {std::get<Estimate>(found)};
  const Json report = report_json(contents);
  EXPECT_EQ(complaint("report", plain(report)), "");
  const Json& timeline = report["timeline"];
  EXPECT_EQ(timeline["micro_batches"], 16);
  EXPECT_NEAR(timeline["step_seconds"].get<double>(), contents.plan.ranked[0].step_time.value(),
              1e-2 * timeline["step_seconds"].get<double>());
  EXPECT_EQ(timeline["left_out_seconds"][0], timeline["left_out_seconds"][1]);
  const std::vector<std::string> works = timeline["works"];
  EXPECT_THAT(works, testing::IsSupersetOf(
                         {"forward", "backward", "tensor_communication", "gradient_reduction"}));
}

// 32 stages, 64 micro-batches of 4 chunks each: 16,384 instructions. Its begin and its end are
// shown, and the gap is said.
TEST(ReportRecord, ALargeTimelineIsAWindow) {
  ReportContents contents = sample_contents();
  contents.plan.model.num_layers = 128;
  contents.plan.job.global_batch_size = 64;
  Layout layout{.pipeline_parallel_size = 32};
  layout.virtual_pipeline_parallel_size = 4;
  layout.schedule = PipelineSchedule::interleaved;
  contents.plan.cluster = scaled_to(contents.plan.cluster, 32);
  const Outcome found = estimate(contents.plan, layout);
  ASSERT_TRUE(std::holds_alternative<Estimate>(found));
  contents.plan.ranked = {std::get<Estimate>(found)};
  const Json report = report_json(contents);
  EXPECT_EQ(complaint("report", plain(report)), "");
  const Json& timeline = report["timeline"];
  // Bubbles come on top of the work that a page can show.
  const std::vector<std::string> works = timeline["works"];
  const auto bubble = std::find(works.begin(), works.end(), "pipeline_bubble") - works.begin();
  const Json& events = timeline["events"];
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [&](const Json& event) { return event[3] != bubble; }),
            4500);
  EXPECT_LT(timeline["left_out_seconds"][0], timeline["left_out_seconds"][1]);
  EXPECT_THAT(timeline["sentence"].get<std::string>(),
              testing::AllOf(testing::HasSubstr("omitted"), testing::HasSubstr("--trace")));
}

// In a bubble nothing of the stage runs. Bubbles are no more than what the stage's compute and
// communication leave of the step.
TEST(ReportRecord, NothingRunsInABubble) {
  const Json& timeline = sample_report()["timeline"];
  const std::vector<std::string> works = timeline["works"];
  const auto bubble = std::find(works.begin(), works.end(), "pipeline_bubble") - works.begin();
  ASSERT_LT(static_cast<std::size_t>(bubble), works.size());
  std::vector<double> waited(timeline["stages"].get<std::size_t>());
  for (const Json& gap : timeline["events"]) {
    if (gap[3] != bubble) continue;
    waited[gap[0].get<std::size_t>()] += gap[2].get<double>() - gap[1].get<double>();
    for (const Json& event : timeline["events"]) {
      const bool same_stage = event[0] == gap[0] && event[3] != bubble;
      if (!same_stage || works[event[3].get<std::size_t>()] == "message") continue;
      const double overlap = std::min(event[2].get<double>(), gap[2].get<double>()) -
                             std::max(event[1].get<double>(), gap[1].get<double>());
      EXPECT_LE(overlap, 1e-6);  // times are rounded to tenths of a microsecond
    }
  }
  const double step = timeline["step_seconds"];
  for (std::size_t stage = 0; stage < waited.size(); ++stage) {
    EXPECT_LE(waited[stage], timeline["stage_shares"][stage]["idle"].get<double>() * step + 1e-6);
  }
}

// 16 GPUs in nodes of 8: from 4 to 64.
TEST(ReportRecord, ScalingSaysHowManyTimesTheTokensMoreGpusGive) {
  ReportContents contents = sample_contents();
  contents.scaling.points.assign(3, {});
  planner::ScalePoint& few = contents.scaling.points[0];
  few.gpus = 4;
  few.layout = Layout{};
  few.tokens_per_second_per_gpu = 1000.0;
  contents.scaling.points[1].gpus = 8;
  contents.scaling.points[1].reason = "too large";
  planner::ScalePoint& many = contents.scaling.points[2];
  many.gpus = 64;
  many.layout = Layout{};
  many.tokens_per_second_per_gpu = 500.0;
  const Json scaling = report_json(contents)["scaling"];
  EXPECT_EQ(scaling["planned_gpus"], 16);
  // 64 x 500 over 4 x 1000 is 8.
  EXPECT_THAT(scaling["sentence"].get<std::string>(),
              testing::HasSubstr("64 GPUs, 16.0 times as many as 4, give 8.00 times the tokens"));
  contents.scaling.points.clear();
  EXPECT_TRUE(report_json(contents)["scaling"].is_null());
}

// Answers that the plan already contains are not searched again, and appear once.
TEST(ReportRecord, ScalingAndPlacementOfTheAnswersStandOnce) {
  const AnsweredPlan a = answered_plan();
  ReportContents contents = sample_contents();
  contents.plan = a.plan;
  contents.scaling = a.answers.scaling;
  contents.answers = answers_of(a.answers, a.plan);
  const Json report = report_json(contents);
  EXPECT_EQ(complaint("report", plain(report)), "");
  EXPECT_FALSE(report["answers"].contains("scaling"));
  EXPECT_FALSE(report["answers"].contains("placement"));
  EXPECT_FALSE(report["scaling"].contains("choices"));
  const Json answers = plan_answers_record().write(*contents.answers);
  EXPECT_EQ(report["scaling"]["points"], answers["scaling"]["points"]);
  EXPECT_EQ(report["placement"]["axes"], answers["placement"]["axes"]);
}

// The sample's step takes 0.80 s. Inside a node it sends 64 x 4 MiB of tensor traffic over 450
// GB/s, and the data groups' 1 GB x 2 (4 - 1) / 4 = 1.5 GB. Data ranks are 2 apart and 4 of them
// fill 8 GPUs, so both stay inside a node: one link carries the sum.
TEST(ReportRecord, LoadsOfALinkAddUpOverItsGroups) {
  const Json placement = sample_report()["placement"];
  double sum = 0.0;
  for (const Json& axis : placement["axes"]) {
    EXPECT_EQ(axis["tier"], "intra_node");
    sum += axis["share_of_step"].get<double>();
  }
  ASSERT_EQ(placement["links"].size(), 1U);
  EXPECT_DOUBLE_EQ(placement["links"][0]["share_of_step"].get<double>(), sum);
  // (268435456 + 1.5e9) / (450e9 x 0.8) / 0.8 s
  EXPECT_NEAR(sum, 0.0061404, 1e-7);
  EXPECT_THAT(placement["sentence"].get<std::string>(),
              testing::AllOf(testing::HasSubstr("NVLink"), testing::HasSubstr("0.6 %")));
  EXPECT_EQ(placement["nodes"].size(), 2U);
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
