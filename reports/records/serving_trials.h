// SPDX-License-Identifier: Apache-2.0
// What meshwright trial observed of a service's deployments, and what was predicted beside it.
#pragma once

#include <string>
#include <vector>

#include "planner/serving/serving_validation.h"
#include "reports/records/origin.h"
#include "sim/record/record.h"
#include "sim/serving/serving_observation.h"

namespace meshwright::reports {

struct ServingTrials {
  Origin origin{};
  std::string plan{};  // its file
  std::vector<ServingObservation> observations{};
};
const Record<ServingTrials>& serving_trials_record();

struct ServingValidationFile {
  Origin origin{};
  planner::ServingValidation validation{};
  std::string caution{};  // the trials are of another plan; empty: they are of this one
};
const Record<ServingValidationFile>& serving_validation_record();

}  // namespace meshwright::reports
