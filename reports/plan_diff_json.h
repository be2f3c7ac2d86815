// SPDX-License-Identifier: Apache-2.0
// Two plan files beside each other: what is compared, as JSON and as tables.
#pragma once

#include <vector>

#include "planner/questions/plan_diff.h"
#include "reports/origin_json.h"
#include "reports/table.h"
#include "sim/json/records.h"

namespace meshwright::reports {

inline constexpr std::string_view kDiffSchema = "meshwright.diff/1";

// Inputs (model, cluster, job, search) and ranking as the plan's file has them. Throws InputError.
planner::PlanSide plan_side_from_json(const Json& json, const std::string& file);

Json diff_to_json(const planner::PlanDiff& diff, const std::vector<std::string>& failures,
                  const Origin& origin);
// Inputs that changed (when any did), then the rankings.
std::vector<Table> diff_tables(const planner::PlanDiff& diff);

}  // namespace meshwright::reports
