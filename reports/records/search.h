// SPDX-License-Identifier: Apache-2.0
// The options of a search: a plan says which layouts were looked at, so that a report can look at
// the same ones again.
#pragma once

#include "planner/search/search.h"
#include "sim/record/record.h"

namespace meshwright::reports {

// Record of the search options. A target is stored by name alone; readers look up what it can
// express.
const Record<planner::SearchOptions>& search_options_record();

}  // namespace meshwright::reports
