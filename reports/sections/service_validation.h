// SPDX-License-Identifier: Apache-2.0
// Trials of a service on its page: predicted beside measured, of the deployments that were run.
#pragma once

#include <string>

#include "reports/records/serving_plan.h"

namespace meshwright::reports {

// Empty: the plan has no trials.
std::string service_validation_section(const ServingPlanFile& file);

// Predicted against measured times of each deployment; on the diagonal they agree. Empty: no time
// was predicted and measured.
std::string service_parity_chart(const planner::ServingValidation& validation);

}  // namespace meshwright::reports
