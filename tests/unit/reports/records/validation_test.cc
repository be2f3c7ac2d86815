// SPDX-License-Identifier: Apache-2.0
#include "reports/records/validation.h"

#include <gtest/gtest.h>

#include "tests/unit/reports/plan_fixture.h"

namespace meshwright::reports {
namespace {

planner::Validation sample_validation() {
  planner::LayoutComparison run;
  run.predicted = sample_plan().ranked.front();
  run.observation.layout = run.observation.run_layout = run.predicted.layout;
  run.observation.step_time = seconds(0.75);
  run.error = 0.80 / 0.75 - 1.0;
  run.at_host_speed = {.error = -0.01, .inside_interval = true};
  run.terms = {{TermKind::forward_compute, seconds(0.2), seconds(0.19)}};
  planner::TransferComparison& transfer = run.transfers.emplace_back();
  transfer.counted = run.predicted.volume.stages.front().transfers.front();
  transfer.predicted = seconds(0.1);
  planner::Validation validation;
  validation.layouts = {run};
  validation.skipped = {"dp16: out of memory"};
  validation.median_absolute_error = 0.07;
  validation.worst_absolute_error_at_host_speed = 0.01;
  validation.regret_at_host_speed = 0.02;
  return validation;
}

// The report has the prediction's times, not the whole of it.
TEST(Validation, OfAReportIsReadAsItIsWritten) {
  const Json json = Json::parse(report_validation_record().write(sample_validation()).dump());
  EXPECT_FALSE(json["layouts"][0].contains("predicted"));
  const planner::Validation read = report_validation_record().read(json, "report.json");
  EXPECT_EQ(read.layouts[0].predicted.step_time_low, seconds(0.70));
  EXPECT_EQ(read.worst_absolute_error_at_host_speed, 0.01);
  EXPECT_EQ(read.regret_at_host_speed, 0.02);
  EXPECT_EQ(read.layouts[0].transfers[0].counted.name, "attention output all-reduce");
  EXPECT_EQ(report_validation_record().write(read).dump(), json.dump());
}

TEST(Validation, OfAFileSaysWhatItIsOf) {
  ValidationFile file{.origin = sample_origin(), .validation = sample_validation()};
  Json json = validation_file_record().write(file);
  EXPECT_EQ(json["schema"], "meshwright.validation/1");
  EXPECT_EQ(json["layouts"][0]["predicted"]["step_time_seconds"], 0.80);
  EXPECT_FALSE(json.contains("caution"));
  file.caution = "CAUTION";
  json = validation_file_record().write(file);
  EXPECT_EQ(json["caution"], "CAUTION");
  EXPECT_EQ(json.items().begin().key(), "schema");
}

}  // namespace
}  // namespace meshwright::reports
