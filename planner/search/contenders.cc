// SPDX-License-Identifier: Apache-2.0
#include "planner/search/contenders.h"

#include <algorithm>
#include <iterator>

#include "planner/search/rejection.h"
#include "planner/search/space.h"

namespace meshwright::planner {
namespace {

constexpr int kPerTensorSize = 6;
constexpr double kTermThatMatters = 0.01;  // share of a step from which a term matters

std::vector<int> tensor_sizes(const Plan& plan, const SearchSpace& space) {
  std::vector<int> sizes;
  for (const ParallelSizes& parallel : parallel_sizes_of(plan, space))
    sizes.push_back(parallel.tensor);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// Whatever is turned, the better layout stays the better one, but for the last part in a hundred.
bool shorter_in_no_term(const Estimate& estimate, const Estimate& better) {
  const Seconds slack = better.step_time * kTermThatMatters;
  for (std::size_t k = 0; k < estimate.terms.size(); ++k) {
    if (estimate.terms[k].cost.time + slack < better.terms[k].cost.time) return false;
  }
  return true;
}

}  // namespace

void add_layout(std::vector<Layout>& layouts, const Layout& layout) {
  if (std::find(layouts.begin(), layouts.end(), layout) == layouts.end()) layouts.push_back(layout);
}

void add_layouts(std::vector<Layout>& layouts, const Plan& plan) {
  for (const Estimate& estimate : plan.ranked) add_layout(layouts, estimate.layout);
}

std::vector<Layout> contenders_of(const Plan& plan, const SearchOptions& options) {
  std::vector<Estimate> pool = plan.ranked;
  SearchOptions part = options;
  part.top = kPerTensorSize;
  for (const int tensor : tensor_sizes(plan, options.space)) {
    part.space[&Layout::tensor_parallel_size] = {tensor};
    Plan found = search(plan, part);
    std::move(found.ranked.begin(), found.ranked.end(), std::back_inserter(pool));
  }
  std::stable_sort(pool.begin(), pool.end(),
                   [](const Estimate& a, const Estimate& b) { return a.step_time < b.step_time; });
  std::vector<const Estimate*> kept;
  for (const Estimate& estimate : pool) {
    const bool needless = std::any_of(kept.begin(), kept.end(), [&](const Estimate* better) {
      return shorter_in_no_term(estimate, *better);
    });
    if (!needless) kept.push_back(&estimate);
  }
  std::vector<Layout> layouts;
  for (const Estimate* estimate : kept) layouts.push_back(estimate->layout);
  return layouts;
}

std::vector<Timed> timed(const Scenario& scenario, const std::vector<Layout>& layouts,
                         double memory_headroom) {
  CostTable table(scenario);
  const Bytes limit = only_device(scenario.cluster).memory * (1.0 - memory_headroom);
  std::vector<Timed> found;
  for (const Layout& layout : layouts) {
    const Evaluation evaluation = evaluate_within(table, layout, limit);
    if (evaluation.violation) continue;
    found.push_back({layout, evaluation.step_time, evaluation.peak_memory});
  }
  return found;
}

std::optional<Timed> best_of(const Scenario& scenario, const std::vector<Layout>& layouts,
                             double memory_headroom) {
  const std::vector<Timed> all = timed(scenario, layouts, memory_headroom);
  const auto best = std::min_element(all.begin(), all.end(), [](const Timed& a, const Timed& b) {
    return a.step_time < b.step_time;
  });
  if (best == all.end()) return std::nullopt;
  return *best;
}

}  // namespace meshwright::planner
