// SPDX-License-Identifier: Apache-2.0
// A backtest as a file (schema "meshwright.backtest/1") and as tables.
#pragma once

#include <vector>

#include "planner/accuracy/backtest.h"
#include "planner/accuracy/picks.h"
#include "reports/table.h"
#include "sim/json/records.h"

namespace meshwright::reports {

Json score_to_json(const planner::Score& score);
Json backtest_to_json(const planner::MeasuredSet& set, const planner::Backtest& backtest);
// Reported, predicted, and what our search would have picked ("meshwright.picks/1").
Json picks_to_json(const planner::MeasuredSet& set, const std::vector<planner::Pick>& picks);
// One row a group and one for all; then the ten worst runs with their terms.
Table scores_table(const planner::Backtest& backtest);
Table worst_runs_table(const planner::MeasuredSet& set, const planner::Backtest& backtest);

}  // namespace meshwright::reports
