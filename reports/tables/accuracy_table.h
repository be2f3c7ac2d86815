// SPDX-License-Identifier: Apache-2.0
// The model's errors over many sets of measured runs (schema "meshwright.accuracy_result/1").
#pragma once

#include <string>
#include <vector>

#include "planner/accuracy/accuracy_list.h"
#include "reports/tables/table.h"
#include "sim/json/records.h"

namespace meshwright::reports {

struct AccuracyResult {
  planner::AccuracyRow row;
  planner::Score score;
  std::string framework;   // that the runs were predicted with, each once
  bool fitted_on = false;  // scalars of that framework were fitted on this set
};

Table accuracy_table(const std::vector<AccuracyResult>& results);
Json accuracy_to_json(const std::vector<AccuracyResult>& results);

}  // namespace meshwright::reports
