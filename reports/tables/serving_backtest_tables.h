// SPDX-License-Identifier: Apache-2.0
// The tables of serve backtest.
#pragma once

#include "reports/records/serving_backtest.h"
#include "reports/tables/table.h"

namespace meshwright::reports {

// Errors over all points, then by group.
Table serving_scores_table(const ServingBacktestFile& file);
// The points that are furthest off, in the quantity that most of them tell.
Table serving_misses_table(const ServingBacktestFile& file);

}  // namespace meshwright::reports
