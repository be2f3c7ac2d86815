// SPDX-License-Identifier: Apache-2.0
// Which row of a capacity grid to take, by a rule that is said.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/capacity_study.h"

namespace meshwright::planner {

// Places among the rows; nothing where no row keeps all limits (closest: where no layout fits).
struct Recommendation {
  std::optional<std::size_t> recommended;
  std::string reason;
  std::optional<std::size_t> smallest, cheapest, fastest;  // of those that keep all limits
  std::optional<std::size_t> closest;                      // where none does: misses by least
  // Rows keep all limits, but nothing says which of them to prefer.
  [[nodiscard]] bool is_open() const { return cheapest && !recommended; }
};

// With the worth of a day: the least cost + worth x days, of those that keep all limits. Else with
// a deadline: the cheapest, or the fewest GPUs that cost at most 1 % more. With a budget and no
// deadline: the fastest. Without any of the three nothing is recommended. Cost is GPU-hours where
// not every row has a price.
Recommendation recommend(const std::vector<CapacityRow>& rows, const CapacityQuestion& question);

}  // namespace meshwright::planner
