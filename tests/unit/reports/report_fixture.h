// SPDX-License-Identifier: Apache-2.0
// The report of a sample plan that was searched.
#pragma once

#include "reports/records/report.h"
#include "tests/unit/reports/capacity_fixture.h"

namespace meshwright::reports {

inline ReportContents searched_contents() {
  ReportContents contents = contents_of(sample_plan());
  contents.sizes = planner::size_map(contents.plan, {});
  contents.scaling = planner::scaling_around(contents.plan, {});
  return contents;
}
// Searched for once.
inline ReportContents sample_contents() {
  static const ReportContents contents = searched_contents();
  return contents;
}

inline Json report_json(const ReportContents& contents) {
  return report_record().write(report_of(contents));
}

inline const Json& sample_report() {
  static const Json report = report_json(sample_contents());
  return report;
}

}  // namespace meshwright::reports
