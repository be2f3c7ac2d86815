// SPDX-License-Identifier: Apache-2.0
#include "planner/search/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "planner/search/contenders.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {
namespace {

constexpr double kMemoryThatMatters = 0.05;

using SizesKey = std::array<int, 5>;
SizesKey sizes_of(const Layout& l) {
  return {l.tensor_parallel_size, l.pipeline_parallel_size, l.context_parallel_size,
          l.expert_parallel_size, l.micro_batch_size};
}

bool saves_memory(Bytes peak, Bytes least) { return peak <= least * (1.0 - kMemoryThatMatters); }

void drop_over_limits(std::vector<FoundLayout>& all, const Scenario& scenario, const Limits& limits,
                      LeftOutOfChoice& left_out) {
  std::vector<FoundLayout> kept;
  for (FoundLayout& mine : all) {
    const std::string why = exceeded(limits, scenario, mine.candidate.step_time);
    if (why.empty()) {
      kept.push_back(std::move(mine));
      continue;
    }
    ++left_out.over_limits;
    if (left_out.nearest.empty()) left_out.nearest = brief_name(mine.candidate.layout) + " " + why;
  }
  all = std::move(kept);
}

}  // namespace

bool near_duplicate(const Estimate& estimate, const Estimate& better) {
  return sizes_of(estimate.layout) == sizes_of(better.layout) &&
         !saves_memory(estimate.peak_memory(), better.peak_memory());
}

LeftOutOfChoice choose(std::vector<FoundLayout>& layouts, const Scenario& scenario,
                       Objective objective, const Limits& limits, int top) {
  LeftOutOfChoice left_out;
  drop_over_limits(layouts, scenario, limits, left_out);
  const auto value = [&](const FoundLayout& found) {
    return objective_value(objective, scenario, found.candidate.step_time,
                           found.candidate.peak_memory);
  };
  std::stable_sort(layouts.begin(), layouts.end(), [&](const FoundLayout& a, const FoundLayout& b) {
    return better_value(objective, value(a), value(b));
  });
  std::map<SizesKey, Bytes> least;  // memory of those kept
  std::vector<FoundLayout> kept;
  for (const FoundLayout& mine : layouts) {
    const Candidate& candidate = mine.candidate;
    const auto [other, is_new] =
        least.try_emplace(sizes_of(candidate.layout), candidate.peak_memory);
    const bool duplicate = !is_new && !saves_memory(candidate.peak_memory, other->second);
    if (duplicate) ++left_out.near_duplicates;
    const bool wanted = kept.size() < static_cast<std::size_t>(top) || mine.on_front;
    if (is_new && !wanted) least.erase(other);
    if (duplicate || !wanted) continue;
    other->second = std::min(other->second, candidate.peak_memory);
    kept.push_back(mine);
  }
  layouts = std::move(kept);
  return left_out;
}

ChosenPlan chosen_plan(const Scenario& scenario, const SearchOptions& options, Objective objective,
                       const Limits& limits) {
  constexpr int kTwinsOfEach = kLayoutsPooled / kLayoutsKept;
  const int kept = std::max(options.top, kLayoutsKept);
  SearchOptions wide = options;
  wide.top = kept * kTwinsOfEach;
  FoundLayouts found = find_layouts(scenario, wide);
  std::vector<FoundLayout> pool;
  for (const FoundLayout& mine : found.layouts) {
    if (pool.size() < kLayoutsPooled || mine.on_front) pool.push_back(mine);
  }
  ChosenPlan chosen;
  chosen.pool = with_estimates(found.plan, pool, options);
  chosen.left_out = choose(pool, scenario, objective, limits, kLayoutsPooled);
  choose(found.layouts, scenario, objective, limits, kept);
  chosen.plan = with_estimates(std::move(found.plan), found.layouts, options);
  return chosen;
}

}  // namespace meshwright::planner
