// SPDX-License-Identifier: Apache-2.0
// A capacity answer as tables, for terminal, files and page. `kind` is what the rows count: GPUs or
// cores.
#pragma once

#include <vector>

#include "reports/records/capacity.h"
#include "reports/tables/table.h"

namespace meshwright::reports {

// One row a row of the grid; `wide` has every column, for files.
Table capacity_table(const Capacity& capacity, DeviceKind kind, bool wide);
// Where the time of one run goes.
// `median_days`: of the whole run, over the ranges of its inputs.
Table time_table(const planner::TimeParts& time, double median_days);
// Steps of one batch and sequence length each.
Table phases_table(const std::vector<PhaseFacts>& phases);
// Table of the levers on days and money, largest first.
Table levers_table(const Capacity& capacity);
// A row beside a run that somebody made, part by part.
Table reference_table(const ReferenceFacts& reference, DeviceKind kind);
Table assumptions_table(const std::vector<planner::Assumption>& assumptions);

}  // namespace meshwright::reports
