// SPDX-License-Identifier: Apache-2.0
// Assumptions of an answer other than the step's terms, each with its source.
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

// For one row.
std::vector<Assumption> assumptions_of(const CapacityQuestion& question, const CapacityRow& row);

// Sentences about what the ranges of days and cost include and exclude.
std::vector<std::string> included_in(const CapacityQuestion& question, const CapacityRow& row);
std::vector<std::string> left_out_of(const CapacityQuestion& question);

}  // namespace meshwright::planner
