// SPDX-License-Identifier: Apache-2.0
// Shared parts of red flags: a layout with one change, its cost, and differences as text.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "planner/search/contenders.h"
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

// "0.31 s (4.2 %) less", or "more".
inline std::string less_or_more(Seconds less, Seconds step) {
  return fmt::format("{} s ({}) {}", number_text(std::abs(less.value()), 3),
                     percent_text(std::abs(less / step)), less >= seconds(0) ? "less" : "more");
}
// "0.31 s (4.2 %) longer", or "shorter".
inline std::string longer_or_shorter(Seconds longer, Seconds step) {
  return fmt::format("{} s ({}) {}", number_text(std::abs(longer.value()), 3),
                     percent_text(std::abs(longer / step)),
                     longer >= seconds(0) ? "longer" : "shorter");
}

// "Its step takes 3.61 s, 4.2 % longer."
inline std::string step_text(const Timed& other, const Estimate& winner) {
  const double longer = other.step_time / winner.step_time - 1.0;
  return fmt::format("Its step takes {} s, {} {}.", number_text(other.step_time.value()),
                     percent_text(std::abs(longer)), longer >= 0.0 ? "longer" : "shorter");
}

}  // namespace meshwright::planner
