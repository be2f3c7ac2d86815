// SPDX-License-Identifier: Apache-2.0
// What the program's JSON Schemas say of a record.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "reports/records/capacity.h"
#include "reports/records/comparison.h"
#include "reports/records/plan_file.h"
#include "reports/records/report.h"
#include "reports/records/validation.h"
#include "reports/trace/trace.h"
#include "sim/record/json.h"
#include "tests/unit/schema_check.h"

namespace meshwright::reports {

// A record as a reader of its text has it.
inline Json plain(const Json& record) { return Json::parse(record.dump()); }

// The complaints of a file's schema; empty when it has none.
inline std::string complaint(const std::string& name, const Json& record) {
  static const std::map<std::string, std::function<Json()>> schemas{
      {"capacity", [] { return capacity_file_record().schema("capacity"); }},
      {"comparison", [] { return comparison_record().schema("comparison"); }},
      {"plan", [] { return plan_file_record().schema("plan"); }},
      {"report", [] { return report_record().schema("report"); }},
      {"trace", [] { return trace_schema("trace"); }},
      {"validation", [] { return validation_file_record().schema("validation"); }}};
  return test::complaint_of(schemas.at(name)(), record);
}

}  // namespace meshwright::reports
