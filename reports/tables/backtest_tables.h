// SPDX-License-Identifier: Apache-2.0
// Predicted against measured runs, as tables.
#pragma once

#include "planner/accuracy/backtest.h"
#include "reports/tables/table.h"

namespace meshwright::reports {

// One row a group and one for all; then the ten worst runs with their terms.
Table scores_table(const planner::Backtest& backtest);
// Runs that could not be read, and why.
Table unread_runs_table(const planner::MeasuredSet& set);
Table worst_runs_table(const planner::MeasuredSet& set, const planner::Backtest& backtest);

}  // namespace meshwright::reports
