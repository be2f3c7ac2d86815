// SPDX-License-Identifier: Apache-2.0
// The options of a search as JSON and back: a plan says which layouts were looked at, so that a
// report can look at the same ones again.
#pragma once

#include "planner/search/search.h"
#include "sim/json/records.h"

namespace meshwright::reports {

// Of a target the name alone: who reads it knows how to ask what it can say.
Json search_options_to_json(const planner::SearchOptions& options);
planner::SearchOptions search_options_from_json(const Json& json, const std::string& file,
                                                const std::string& pointer);

}  // namespace meshwright::reports
