// SPDX-License-Identifier: Apache-2.0
// Reports side by side as tables.
#pragma once

#include <vector>

#include "reports/records/comparison.h"
#include "reports/tables/table.h"

namespace meshwright::reports {

// Quantities, inputs, terms, memory, volume, ranking, rejections; those that have rows.
std::vector<Table> comparison_tables(const Comparison& comparison);

}  // namespace meshwright::reports
