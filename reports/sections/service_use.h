// SPDX-License-Identifier: Apache-2.0
// What the first deployment's memory, steps and time are used for.
#pragma once

#include <string>

#include "reports/records/serving_plan.h"

namespace meshwright::reports {

// Each is empty where the plan has no details.
std::string service_memory_section(const ServingPlanFile& file);
std::string service_steps_section(const ServingPlanFile& file);
// Shares of each pool's time: prefill, decode, idle.
std::string service_use_section(const ServingPlanFile& file);

}  // namespace meshwright::reports
