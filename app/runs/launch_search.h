// SPDX-License-Identifier: Apache-2.0
// A search of what a launcher can say.
#pragma once

#include <string>

#include "planner/search/search.h"
#include "sim/step/scenario.h"

namespace meshwright::interop {
struct LaunchRecord;
struct LaunchTarget;
}  // namespace meshwright::interop

namespace meshwright::app {

// Throws InputError: --target, and which there are.
const interop::LaunchTarget& require_launch_target(const std::string& name);

// Returns the conditions that a launcher sets for a search. An unknown launcher sets none.
planner::SearchTarget search_target(const std::string& name, const Scenario& scenario);
// The same of a launch that is there, which may have no place for some of it.
planner::SearchTarget search_target(const interop::LaunchRecord& launch, const Scenario& scenario);

}  // namespace meshwright::app
