// SPDX-License-Identifier: Apache-2.0
// What the program writes obeys the schemas that it prints, and these refuse what is wrong.
#include <gtest/gtest.h>

#include "answered_plan.h"
#include "reports/trace/step_trace.h"
#include "schema_check.h"

namespace meshwright::reports {
namespace {

Json json_of_file(const PlanFile& plan) { return plain(plan_file_record().write(plan)); }

Json plan_json() {
  const AnsweredPlan a = answered_plan();
  return json_of_file(plan_file_of(a.plan, sample_origin(), a.search, a.answers));
}

Json trace_json() {
  const Layout layout{
      .tensor_parallel_size = 2, .pipeline_parallel_size = 2, .data_parallel_size = 4};
  const Outcome found = estimate({sample_model(), sample_cluster(), sample_job()}, layout);
  return Json::parse(trace_text(
      step_trace({sample_model(), sample_cluster(), sample_job()}, std::get<Estimate>(found))));
}

Json validation_json() {
  const planner::Plan plan = sample_plan();
  planner::LayoutComparison run;
  run.observation.layout = run.observation.run_layout = plan.ranked[0].layout;
  run.observation.step_time = seconds(0.75);
  run.predicted = plan.ranked[0];
  run.error = 0.80 / 0.75 - 1.0;
  run.terms = {{TermKind::forward_compute, seconds(0.2), seconds(0.19)}};
  run.transfers.emplace_back();
  planner::Validation validation;
  validation.layouts = {run};
  validation.skipped = {"dp16: out of memory"};
  return plain(
      validation_file_record().write({.origin = sample_origin(), .validation = validation}));
}

TEST(Schema, OfAPlanTakesOneWithAllAnswers) {
  const Json plan = plan_json();
  EXPECT_EQ(complaint("plan", plan), "");
  EXPECT_FALSE(plan["ranked"].empty());
  EXPECT_FALSE(plan["answers"]["sensitivity"].empty());
  EXPECT_FALSE(plan["answers"]["confidence"]["against"].empty());
  EXPECT_EQ(plan["answers"]["what_ifs"].size(), 2U);
  EXPECT_EQ(plan["answers"]["scaling"]["points"].size(), 2U);
}

TEST(Schema, OfAPlanTakesOneWithoutAnswersAndOneThatNothingFits) {
  planner::Plan plan = sample_plan();
  EXPECT_EQ(complaint("plan", json_of_file(plan_file_of(plan, sample_origin()))), "");
  plan.ranked.clear();
  plan.pareto.clear();
  plan.closest = plan.rejections;
  EXPECT_EQ(
      complaint("plan", json_of_file(plan_file_of(plan, sample_origin(), {}, planner::Answers{}))),
      "");
}

TEST(Schema, OfAPlanRefusesMissingPartsUnknownKeysAndOtherUnits) {
  Json plan = plan_json();
  plan["ranked"][0].erase("step_time_seconds");
  EXPECT_NE(complaint("plan", plan), "");
  plan = plan_json();
  plan["ranked"][0]["step_time_ms"] = 800.0;
  EXPECT_NE(complaint("plan", plan), "");
  plan = plan_json();
  plan["answers"]["confidence"]["probability_best"] = 82.0;
  EXPECT_NE(complaint("plan", plan), "");
  plan = plan_json();
  plan["schema"] = "meshwright.report/1";
  EXPECT_NE(complaint("plan", plan), "");
}

TEST(Schema, OfAValidationTakesWhatIsWrittenAndNoLess) {
  Json validation = validation_json();
  EXPECT_EQ(complaint("validation", validation), "");
  validation["layouts"][0]["terms"][0].erase("measured_seconds");
  EXPECT_NE(complaint("validation", validation), "");
  validation = validation_json();
  validation["kendall_tau"] = 2.0;
  EXPECT_NE(complaint("validation", validation), "");
}

TEST(Schema, OfATraceTakesAStepAndRefusesASliceWithoutATrack) {
  Json trace = trace_json();
  EXPECT_EQ(complaint("trace", trace), "");
  for (Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") event.erase("tid");
  }
  EXPECT_NE(complaint("trace", trace), "");
  trace = trace_json();
  trace["otherData"].erase("schema");
  EXPECT_NE(complaint("trace", trace), "");
}

}  // namespace
}  // namespace meshwright::reports
