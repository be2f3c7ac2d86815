// SPDX-License-Identifier: Apache-2.0
// Charts of a service: throughput of a GPU against speed of a user, and latency against load.
#pragma once

#include <string>

#include "reports/records/serving_plan.h"

namespace meshwright::reports {

// The Pareto front, the region of the targets, and the first choice. Empty: no point.
std::string service_frontier_chart(const ServingPlanFile& file);

// Percentiles of a latency against the load, with the asked load, the limit and the knee.
enum class ServiceLatency { ttft, tpot };
// Empty: fewer than two loads were simulated.
std::string service_latency_chart(const ServingPlanFile& file, ServiceLatency latency);

}  // namespace meshwright::reports
