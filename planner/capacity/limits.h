// SPDX-License-Identifier: Apache-2.0
// Which limits of a run a row breaks, in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/capacity_study.h"

namespace meshwright::planner {

// Days that the deadline leaves, stated as days or as a day of the calendar.
std::optional<double> days_allowed(const CapacityOptions& options);

// "P90 is 132 days, 90 are allowed".
std::vector<std::string> broken_limits(const CapacityRow& row, const CapacityQuestion& question);

}  // namespace meshwright::planner
