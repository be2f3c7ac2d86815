// SPDX-License-Identifier: Apache-2.0
// What meshwright trial observed of a service's deployments, and what was predicted beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/serving/serving_validation.h"
#include "reports/records/origin.h"
#include "sim/record/record.h"
#include "sim/serving/serving_observation.h"

namespace meshwright::reports {

inline constexpr std::string_view kServingTrialsSchema = "meshwright.serve_trials/1";
struct ServingTrials {
  Origin origin{};
  std::string plan{};  // its file
  std::vector<ServingObservation> observations{};
};
const Record<ServingTrials>& serving_trials_record();

// In the file of meshwright validate, and in a plan's report.
struct ServingValidationPart {
  planner::ServingValidation validation{};
  std::string caution{};  // the trials are of another plan; empty: they are of this one
};
// Read back, observations have what a page shows of them alone.
const Record<ServingValidationPart>& serving_validation_part_record();

struct ServingValidationFile {
  Origin origin{};
  ServingValidationPart part{};
};
const Record<ServingValidationFile>& serving_validation_record();

}  // namespace meshwright::reports
