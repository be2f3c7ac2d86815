// SPDX-License-Identifier: Apache-2.0
#include "planner/search/choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/search/contenders.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {
namespace {

constexpr double kMemoryThatMatters = 0.05;

struct Kept {
  Estimate estimate;
  bool on_front = false;
};

std::vector<Kept> with_front(Plan& plan) {
  std::vector<Kept> all;
  for (Estimate& estimate : plan.ranked) all.push_back({std::move(estimate)});
  for (const std::size_t place : plan.pareto) all[place].on_front = true;
  return all;
}

void drop_over_limits(std::vector<Kept>& all, const Scenario& scenario, const Limits& limits,
                      LeftOutOfChoice& left_out) {
  std::vector<Kept> kept;
  for (Kept& mine : all) {
    const std::string why = exceeded(limits, scenario, mine.estimate.step_time);
    if (why.empty()) {
      kept.push_back(std::move(mine));
      continue;
    }
    ++left_out.over_limits;
    if (left_out.nearest.empty()) left_out.nearest = brief_name(mine.estimate.layout) + " " + why;
  }
  all = std::move(kept);
}

}  // namespace

bool near_twin(const Estimate& estimate, const Estimate& better) {
  const Layout& a = estimate.layout;
  const Layout& b = better.layout;
  const bool same = a.tensor_parallel_size == b.tensor_parallel_size &&
                    a.pipeline_parallel_size == b.pipeline_parallel_size &&
                    a.context_parallel_size == b.context_parallel_size &&
                    a.expert_parallel_size == b.expert_parallel_size &&
                    a.micro_batch_size == b.micro_batch_size;
  return same && estimate.peak_memory() > better.peak_memory() * (1.0 - kMemoryThatMatters);
}

LeftOutOfChoice choose(Plan& plan, Objective objective, const Limits& limits, int top) {
  LeftOutOfChoice left_out;
  const Scenario& scenario = plan;
  std::vector<Kept> all = with_front(plan);
  drop_over_limits(all, scenario, limits, left_out);
  const auto value = [&](const Kept& kept) {
    return objective_value(objective, scenario, kept.estimate.step_time,
                           kept.estimate.peak_memory());
  };
  std::stable_sort(all.begin(), all.end(), [&](const Kept& a, const Kept& b) {
    return better_value(objective, value(a), value(b));
  });
  plan.ranked.clear();
  plan.pareto.clear();
  for (Kept& mine : all) {
    const bool twin =
        std::any_of(plan.ranked.begin(), plan.ranked.end(),
                    [&](const Estimate& better) { return near_twin(mine.estimate, better); });
    if (twin) ++left_out.near_twins;
    const bool wanted = plan.ranked.size() < static_cast<std::size_t>(top) || mine.on_front;
    if (twin || !wanted) continue;
    if (mine.on_front) plan.pareto.push_back(plan.ranked.size());
    plan.ranked.push_back(std::move(mine.estimate));
  }
  return left_out;
}

}  // namespace meshwright::planner
