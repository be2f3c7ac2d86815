// SPDX-License-Identifier: Apache-2.0
// What a day costs: rows that no other row beats in both days and cost, and the price of each day
// that a faster one saves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/capacity_study.h"

namespace meshwright::planner {

// A row that fits. Days and cost are medians; the cost is GPU-hours where not every row has a
// price.
struct FrontierPoint {
  std::size_t row = 0;
  double days = 0.0, cost = 0.0;
  // A row that is at least as fast and as cheap, and better in one of the two.
  std::optional<std::size_t> dominated_by{};
  std::string reason{};                        // why it is dominated, where that is known
  std::optional<std::size_t> slower{};         // the next slower row of the frontier
  std::optional<double> cost_per_day_saved{};  // against that row
};

// (cost - cost of the slower) / (days of the slower - days): what each day that is saved costs.
double cost_per_day_saved(const FrontierPoint& slower, const FrontierPoint& faster);

// Whether every row that fits has a price.
bool all_priced(const std::vector<CapacityRow>& rows);
// The largest odd divisor: 3 for 24,576 = 3 x 2^13.
int odd_part(int count);

// Slowest first. Points of the frontier have `slower`, except the cheapest.
std::vector<FrontierPoint> frontier_of(const std::vector<CapacityRow>& rows);

}  // namespace meshwright::planner
