// SPDX-License-Identifier: Apache-2.0
// What an answer rests on beside the step's own terms, each with who says so.
#pragma once

#include <string>
#include <vector>

#include "planner/capacity/capacity_study.h"

namespace meshwright::planner {

struct Assumption {
  std::string name, label, unit;
  Ranged amount;
  bool in_interval = false;  // whether its range is part of days and cost
};

// Of one row.
std::vector<Assumption> assumptions_of(const CapacityQuestion& question, const CapacityRow& row);

// What the ranges of days and cost hold, and what nobody modelled, in words.
std::vector<std::string> included_in(const CapacityQuestion& question, const CapacityRow& row);
std::vector<std::string> left_out_of(const CapacityQuestion& question);

}  // namespace meshwright::planner
