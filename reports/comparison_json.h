// SPDX-License-Identifier: Apache-2.0
// Two reports side by side (schema "meshwright.comparison/1", described in
// schema/comparison.schema.json): inputs that differ, and how the answer changed. Changes are
// after minus before, relative ones after / before - 1.
#pragma once

#include <vector>

#include "reports/origin_json.h"
#include "reports/table.h"
#include "sim/json/records.h"

namespace meshwright::reports {

inline constexpr std::string_view kComparisonSchema = "meshwright.comparison/1";

// `before` and `after` are records of reports.
Json comparison_to_json(const Json& before, const Json& after, const Origin& origin);

// Inputs, quantities, terms, memory, volume, ranking, rejections; those that have rows.
std::vector<Table> comparison_tables(const Json& comparison);

}  // namespace meshwright::reports
