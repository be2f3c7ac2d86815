// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/records/report.h"
#include "tests/unit/reports/answered_plan.h"
#include "tests/unit/reports/report_fixture.h"
#include "tests/unit/reports/schema_check.h"

namespace meshwright::reports {
namespace {

// Rank 0 sends 64 x 4,194,304 B to its tensor peer 1 (a ring of two sends 2 x 1/2 of the payload).
TEST(ReportRecord, RanksSendToTheNextOfTheirRing) {
  const Json& matrix = sample_report()["volume"]["matrix"];
  EXPECT_EQ(matrix["ranks_per_group"], 1);
  EXPECT_EQ(matrix["groups"], 16);
  EXPECT_EQ(matrix["cells"][0], Json::array({0, 1, 268435456.0}));
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

}  // namespace
}  // namespace meshwright::reports
