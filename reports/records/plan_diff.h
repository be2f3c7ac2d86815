// SPDX-License-Identifier: Apache-2.0
// What changed between two plans, as a file (schema "meshwright.diff/1").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/questions/plan_diff.h"
#include "reports/records/origin.h"
#include "sim/record/record.h"

namespace meshwright::reports {

inline constexpr std::string_view kDiffSchema = "meshwright.diff/1";

// Where a layout is in a ranking.
struct DiffPlace {
  int rank = 0;  // from 1
  Seconds step_time;
  Bytes peak_memory;
};

// Of the best layouts.
struct DiffQuantity {
  planner::PlanQuantity name{};
  double before = 0.0, after = 0.0, change = 0.0;
};

struct DiffLayout {
  std::string short_name{};
  std::optional<DiffPlace> before{}, after{};
};

struct DiffFile {
  std::string tool_version{}, command{};
  std::vector<planner::InputChange> inputs{};
  std::string sentence{};
  bool winner_changes = false;
  std::vector<DiffQuantity> quantities{};
  std::vector<DiffLayout> layouts{};
  std::vector<std::string> failures{};
};

const Record<DiffFile>& diff_file_record();

DiffFile diff_file_of(const planner::PlanDiff& diff, const std::vector<std::string>& failures,
                      const Origin& origin);

// Inputs (model, cluster, job, search) and ranking as the plan's file has them. Throws InputError.
planner::PlanSide plan_side_from_json(const Json& json, const std::string& file);

}  // namespace meshwright::reports
