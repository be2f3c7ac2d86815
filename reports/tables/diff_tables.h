// SPDX-License-Identifier: Apache-2.0
// Two plans beside each other, as tables.
#pragma once

#include <vector>

#include "planner/questions/plan_diff.h"
#include "reports/tables/table.h"

namespace meshwright::reports {

// Inputs that changed (when any did), then the rankings.
std::vector<Table> diff_tables(const planner::PlanDiff& diff);

}  // namespace meshwright::reports
