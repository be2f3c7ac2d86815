// SPDX-License-Identifier: Apache-2.0
// The record behind the report page (schema "meshwright.report/1", described in
// schema/report.schema.json). Every number of the page is in it; the page adds no others.
#pragma once

#include <optional>
#include <vector>

#include "planner/accuracy/validation.h"
#include "planner/questions/scaling.h"
#include "planner/questions/size_map.h"
#include "planner/search/plan.h"
#include "reports/origin_json.h"
#include "sim/base/launch_file.h"
#include "sim/json/records.h"

namespace meshwright::reports {

inline constexpr std::string_view kReportSchema = "meshwright.report/1";

struct ReportContents {
  planner::Plan plan;
  int top = 10;        // how many of the ranking were asked for
  Origin origin;       // of the report
  Origin plan_origin;  // of the plan
  std::optional<planner::Validation> validation;
  Json profile;  // the measured profile, or null
  std::vector<LaunchFile> launch;
  Json answers;  // the plan's, as its file has them, or null
  std::vector<planner::SizeCell> sizes;
  planner::Scaling scaling;  // no points: no section
  Json capacity{};           // as the plan's file has it, or what its inputs ask
};

Json report_to_json(const ReportContents& contents);

}  // namespace meshwright::reports
