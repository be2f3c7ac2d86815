// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/records/report.h"
#include "tests/unit/reports/answered_plan.h"
#include "tests/unit/reports/report_fixture.h"
#include "tests/unit/reports/schema_check.h"

namespace meshwright::reports {
namespace {

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

}  // namespace
}  // namespace meshwright::reports
