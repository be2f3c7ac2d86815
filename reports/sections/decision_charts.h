// SPDX-License-Identifier: Apache-2.0
// The two charts of the first screen, as SVG that needs no script: cost against days, and what
// moves both. Their size is fixed by their content, so that links, paper and captures keep it.
#pragma once

#include <string>

#include "reports/records/capacity.h"

namespace meshwright::reports {

// Cost against days of every row that fits: ranges, the frontier with the cost of each day saved,
// limits. Empty where fewer than two rows fit or no training length is stated.
std::string frontier_chart(const Capacity& capacity, DeviceKind kind);

// Change in days and in cost at both ends of each lever, the largest first. Empty: no lever.
std::string tornado_chart(const Capacity& capacity);

}  // namespace meshwright::reports
