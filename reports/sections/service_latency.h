// SPDX-License-Identifier: Apache-2.0
// The first deployment at other loads: latencies, throughput, and where they begin to rise.
#pragma once

#include <string>

#include "reports/records/serving_plan.h"

namespace meshwright::reports {

// Empty: the plan has no details.
std::string service_latency_section(const ServingPlanFile& file);

}  // namespace meshwright::reports
