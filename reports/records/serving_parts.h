// SPDX-License-Identifier: Apache-2.0
// Rows that records of services share.
#pragma once

#include "planner/capacity/options.h"
#include "sim/record/record.h"
#include "sim/serving/simulation.h"

namespace meshwright::reports {

const Record<Percentiles>& percentiles_record();
// A number and its 90 % interval.
const Record<planner::Ranged>& interval_record();

}  // namespace meshwright::reports
