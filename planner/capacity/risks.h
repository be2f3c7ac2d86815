// SPDX-License-Identifier: Apache-2.0
// What can make a row late or dear: what happens, how likely, what it costs, what settles it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/capacity_study.h"
#include "planner/capacity/levers.h"
#include "planner/capacity/reference_run.h"

namespace meshwright::planner {

struct Risk {
  std::string name{};  // software, restart, failures, network, spares, arrival
  std::string what{}, how_likely{}, settled_by{};
  std::optional<double> days{}, cost{};  // more than the row's medians; nothing: not modelled
};

// For one row of which the levers are known.
std::vector<Risk> risks_of(const CapacityQuestion& question, const CapacityRow& row,
                           const Levers& levers,
                           const std::optional<ReferenceComparison>& reference,
                           const LayoutFinder& finder);

}  // namespace meshwright::planner
