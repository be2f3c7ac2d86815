// SPDX-License-Identifier: Apache-2.0
// Reports side by side, any number of them (schema "meshwright.comparison/2", described in
// schema/comparison.schema.json): inputs that differ, and how the answers do. Lists have one entry
// for each report, in their order; changes are against the first.
#pragma once

#include <string>
#include <vector>

#include "reports/origin_json.h"
#include "reports/table.h"
#include "sim/json/records.h"

namespace meshwright::reports {

inline constexpr std::string_view kComparisonSchema = "meshwright.comparison/2";

struct ComparedReport {
  std::string file;  // as it is to be called
  Json record;
};

// Two reports or more.
Json comparison_to_json(const std::vector<ComparedReport>& compared, const Origin& origin);

// Inputs, quantities, terms, memory, volume, ranking, rejections; those that have rows.
std::vector<Table> comparison_tables(const Json& comparison);

}  // namespace meshwright::reports
