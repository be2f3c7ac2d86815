// SPDX-License-Identifier: Apache-2.0
// The record behind the report page (schema "meshwright.report/1", described in
// schema/report.schema.json). Every number of the page is in it; the page adds no others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/accuracy/validation.h"
#include "planner/search/plan.h"
#include "planner/search/search.h"
#include "reports/origin_json.h"
#include "sim/json/records.h"

namespace meshwright::reports {

inline constexpr std::string_view kReportSchema = "meshwright.report/1";

// The winner in a framework's words, or why it cannot be said in them.
struct LaunchFile {
  std::string target;
  std::string names_of;  // the framework's version
  std::string file_name;
  std::string text;
  std::vector<std::string> notes;
  std::string refusal;
};

struct ReportContents {
  planner::Plan plan;
  planner::SearchOptions search;  // the plan's, for the heat map
  Origin origin;                  // of the report
  Origin plan_origin;             // of the plan
  std::optional<planner::Validation> validation;
  nlohmann::json profile;  // the measured profile, or null
  std::vector<LaunchFile> launch;
  Json answers;  // the plan's, as its file has them, or null
};

Json report_to_json(const ReportContents& contents);

}  // namespace meshwright::reports
