// SPDX-License-Identifier: Apache-2.0
// A capacity answer as tables.
#pragma once

#include <vector>

#include "planner/capacity/capacity_answer.h"
#include "reports/table.h"

namespace meshwright::reports {

// One row a row of the grid; `wide` has every column, for files.
Table capacity_table(const planner::CapacityAnswer& answer, bool wide);
// Where the time of one run goes.
Table time_table(const planner::CapacityRow& row);
// What moves days and money, largest first.
Table levers_table(const planner::CapacityAnswer& answer);
// A row beside the run of the job's "reference", part by part; only where there is one.
Table reference_table(const planner::CapacityAnswer& answer);
Table assumptions_table(const std::vector<planner::Assumption>& assumptions);

}  // namespace meshwright::reports
