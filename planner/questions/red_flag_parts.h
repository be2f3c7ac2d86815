// SPDX-License-Identifier: Apache-2.0
// Shared parts of red flags: a layout with one change, its cost, and shares as text.
#pragma once

#include <fmt/format.h>

#include <string>

#include "sim/base/number_text.h"
#include "sim/step/evaluate.h"

namespace meshwright::planner {

inline Evaluation priced(const Scenario& scenario, const Layout& layout) {
  CostTable table(scenario);
  return evaluate(table, layout, MemoryLimit::reported);
}

inline bool runs(const Evaluation& evaluation) {
  return !evaluation.violation || evaluation.violation->rule == Rule::memory_capacity;
}

// "3.2 %".
inline std::string percent_text(double share) {
  return fmt::format("{} %", number_text(100.0 * share, 2));
}

}  // namespace meshwright::planner
