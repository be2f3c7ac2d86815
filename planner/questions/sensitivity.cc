// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/sensitivity.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

namespace meshwright::planner {
namespace {

// Less than this of a step is no answer to a turned parameter.
constexpr double kNoSwing = 1e-6;

Perturbed perturbed(const Scenario& base, WhatIfParameter parameter, double factor,
                    const std::vector<Layout>& contenders, double memory_headroom) {
  const Scenario scenario = scaled(base, parameter, factor);
  const std::vector<Timed> all = timed(scenario, contenders, memory_headroom);
  Perturbed result;
  result.factor = factor;
  result.value = value_of(parameter, scenario);
  if (all.empty()) return result;
  result.step_time = all.front().step_time;  // the base winner is the first contender
  const auto best = std::min_element(all.begin(), all.end(), [](const Timed& a, const Timed& b) {
    return a.step_time < b.step_time;
  });
  result.best = best->layout;
  result.best_step_time = best->step_time;
  return result;
}

void turn_both_ways(Sensitivity& entry, double largest) {
  const double up = std::exp(entry.relative_spread);
  entry.low.factor = 1.0 / up;
  entry.high.factor = std::min(up, largest);
  entry.capped = up > largest;
}

}  // namespace

bool Sensitivity::winner_changes(const Layout& winner) const {
  return !(low.best == winner && high.best == winner);
}

Seconds Sensitivity::swing() const {
  return seconds(std::abs((high.step_time - low.step_time).value()));
}

std::vector<Sensitivity> sensitivity(const Plan& plan, const std::vector<Layout>& contenders,
                                     double memory_headroom) {
  if (plan.ranked.empty()) return {};
  const Scenario& base = plan;
  std::vector<Sensitivity> all;
  for (const WhatIfParameterText& text : all_parameters()) {
    if (!changes_time(text.parameter)) continue;
    const double spread = relative_spread(text.parameter, base);
    if (spread <= 0.0) continue;
    Sensitivity entry;
    entry.parameter = text.parameter;
    entry.value = value_of(text.parameter, base);
    entry.relative_spread = spread;
    entry.provenance = provenance_of(text.parameter, base);
    turn_both_ways(entry, largest_factor(text.parameter, base));
    all.push_back(entry);
  }
  tbb::parallel_for(std::size_t{0}, 2 * all.size(), [&](std::size_t i) {
    Sensitivity& entry = all[i / 2];
    Perturbed& side = i % 2 == 0 ? entry.low : entry.high;
    side = perturbed(base, entry.parameter, side.factor, contenders, memory_headroom);
  });
  const Seconds step = plan.ranked.front().step_time;
  std::erase_if(all, [&](const Sensitivity& s) { return s.swing() <= step * kNoSwing; });
  std::stable_sort(all.begin(), all.end(), [](const Sensitivity& a, const Sensitivity& b) {
    return a.swing() > b.swing();
  });
  return all;
}

}  // namespace meshwright::planner
