// SPDX-License-Identifier: Apache-2.0
// Predicted beside measured, as a file (schema "meshwright.validation/1") and in a report.
#pragma once

#include <string>

#include "planner/accuracy/validation.h"
#include "reports/records/origin.h"
#include "sim/record/record.h"

namespace meshwright::reports {

inline constexpr std::string_view kValidationSchema = "meshwright.validation/1";

struct ValidationFile {
  Origin origin{};
  planner::Validation validation{};
  std::string caution{};  // the trials are of another plan; empty: they are of this one
};

const Record<planner::Validation>& validation_record();
// Without the whole prediction: its times are said, its ledger is the plan's.
const Record<planner::Validation>& report_validation_record();
const Record<ValidationFile>& validation_file_record();

}  // namespace meshwright::reports
