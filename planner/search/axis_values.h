// SPDX-License-Identifier: Apache-2.0
// Values of an axis of the search space: those that were asked for, or defaults.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace meshwright::planner {

// Rising.
inline std::vector<int> divisors(int n, int at_most) {
  std::vector<int> found;
  for (int d = 1; d <= std::min(n, at_most); ++d) {
    if (n % d == 0) found.push_back(d);
  }
  return found;
}

template <typename Value>
std::vector<Value> values_or(const std::vector<Value>& values, std::vector<Value> defaults) {
  return values.empty() ? std::move(defaults) : values;
}
// Numbers rise, each once.
inline std::vector<int> or_default(const std::vector<int>& values, std::vector<int> defaults) {
  if (values.empty()) return defaults;
  std::vector<int> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

}  // namespace meshwright::planner
