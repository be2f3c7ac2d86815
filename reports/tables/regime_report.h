// SPDX-License-Identifier: Apache-2.0
// What the shipped spreads rest on, as tables, and the file that holds them (schema
// "meshwright.spreads/1").
#pragma once

#include <string>
#include <vector>

#include "planner/accuracy/learning_curve.h"
#include "planner/accuracy/regime_tables.h"
#include "reports/tables/table.h"
#include "sim/json/records.h"

namespace meshwright::reports {

// One row a set, left out in this way.
Table left_out_table(planner::LeftOut what, const planner::RegimeTables& tables);
// The spreads and the coverage that they have on sets that they were not made from.
Table regimes_table(const planner::RegimeTables& tables);
// "Fastest with p %" against how often it was, and the loss that was expected against the real one.
Table reliability_table(const std::string& title, const planner::JudgedChoices& choices);
// One row a set and number of known runs.
Table learning_table(const std::vector<planner::LearningCurve>& curves);

Json spreads_to_json(const planner::RegimeTables& tables, const std::string& source);
Json learning_to_json(const std::vector<planner::LearningCurve>& curves);
Json regime_tables_to_json(const planner::RegimeTables& tables);

}  // namespace meshwright::reports
