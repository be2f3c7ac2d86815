// SPDX-License-Identifier: Apache-2.0
// Services that were run beside their predictions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/serving/serving_validation.h"
#include "reports/tables/table.h"

namespace meshwright::reports {

// A quantity of a service that was run: "decode step" in "ms".
struct ServedQuantity {
  std::string_view name{}, unit{};
  double predicted = 0, measured = 0;
};
// Those that the service has; hand-overs only with pools.
std::vector<ServedQuantity> served_quantities(const planner::ServingComparison& service);

// One row a service.
Table serving_validation_table(const planner::ServingValidation& validation);
// One row a quantity of each service. Error: predicted / measured - 1.
Table served_quantities_table(const planner::ServingValidation& validation);
// Requests, ranks, host slowdown and bytes of each service.
Table served_runs_table(const planner::ServingValidation& validation);

}  // namespace meshwright::reports
