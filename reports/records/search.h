// SPDX-License-Identifier: Apache-2.0
// The options of a search: a plan says which layouts were looked at, so that a report can look at
// the same ones again.
#pragma once

#include "planner/search/search.h"
#include "sim/record/record.h"

namespace meshwright::reports {

// Of a target the name alone: who reads it knows how to ask what it can say.
const Record<planner::SearchOptions>& search_options_record();

}  // namespace meshwright::reports
