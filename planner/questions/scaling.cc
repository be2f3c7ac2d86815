// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "planner/search/contenders.h"
#include "planner/search/limit_search.h"
#include "planner/search/training_cost.h"
#include "sim/hardware/node_count.h"

namespace meshwright::planner {
namespace {

constexpr std::int64_t kMostGpus = 1 << 20;

bool dominates(const Choice& a, const Choice& b) {
  const bool no_worse = a.step_time <= b.step_time && a.peak_memory <= b.peak_memory &&
                        a.gpus <= b.gpus && a.gpu_seconds <= b.gpu_seconds;
  const bool better = a.step_time < b.step_time || a.peak_memory < b.peak_memory ||
                      a.gpus < b.gpus || a.gpu_seconds < b.gpu_seconds;
  return no_worse && better;
}

void keep_undominated(std::vector<Choice>& choices) {
  std::vector<Choice> kept;
  for (const Choice& mine : choices) {
    const bool needless = std::any_of(choices.begin(), choices.end(),
                                      [&](const Choice& other) { return dominates(other, mine); });
    if (!needless) kept.push_back(mine);
  }
  choices = std::move(kept);
}

// Returns the best layout by the objective that meets the limits, or null.
const Estimate* best_of(const Plan& plan, const Scenario& scenario, const ScalingOptions& options) {
  const Estimate* best = nullptr;
  const auto value = [&](const Estimate& e) {
    return objective_value(options.objective, scenario, e.step_time, e.peak_memory());
  };
  for (const Estimate& estimate : plan.ranked) {
    if (!exceeded(options.limits, scenario, estimate.step_time).empty()) continue;
    if (best == nullptr || better_value(options.objective, value(estimate), value(*best))) {
      best = &estimate;
    }
  }
  return best;
}

std::string why_no_point(const Plan& plan, const Scenario& scenario, const Limits& limits) {
  if (!plan.ranked.empty()) {
    return "the fastest layout " + exceeded(limits, scenario, plan.ranked.front().step_time);
  }
  if (!plan.closest.empty()) return plan.closest.front().sentence;
  return plan.rejections.empty() ? "no sizes of the search space multiply to this count"
                                 : plan.rejections.front().sentence;
}

void fill_point(ScalePoint& point, const Estimate& estimate, const Scenario& scenario,
                Objective objective) {
  point.layout = estimate.layout;
  point.step_time = estimate.step_time;
  point.step_time_low = estimate.step_time_low;
  point.step_time_high = estimate.step_time_high;
  point.peak_memory = estimate.peak_memory();
  point.memory_headroom = 1.0 - point.peak_memory / only_device(scenario.cluster).memory;
  point.tokens_per_second_per_gpu = estimate.tokens_per_second_per_gpu;
  point.model_flops_utilization = estimate.model_flops_utilization;
  point.objective = objective_value(objective, scenario, estimate.step_time, point.peak_memory);
  if (const auto needs = training_cost(scenario.job, scenario.cluster, estimate.step_time)) {
    point.cost = needs->cost;
    point.device_energy_kwh = needs->device_energy_kwh;
  }
}

void look_at(Scaling& scaling, const Scenario& base, int gpus, const SearchOptions& search_options,
             const ScalingOptions& options) {
  ScalePoint point;
  point.gpus = gpus;
  Scenario scenario = base;
  scenario.cluster = scaled_to(base.cluster, gpus);
  const Plan plan = search(scenario, search_options);
  const Estimate* best = best_of(plan, scenario, options);
  if (best == nullptr) {
    point.reason = why_no_point(plan, scenario, options.limits);
  } else {
    fill_point(point, *best, scenario, options.objective);
  }
  scaling.points.push_back(point);
  for (const Estimate& e : plan.ranked) {
    if (!exceeded(options.limits, scenario, e.step_time).empty()) continue;
    scaling.choices.push_back(
        {gpus, e.layout, e.step_time, e.peak_memory(), e.step_time.value() * gpus});
  }
}

std::vector<int> counts_around(const Cluster& cluster) {
  const int gpus = cluster.num_gpus();
  std::set<int> counts;
  for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    const int count = static_cast<int>(gpus * factor);
    const bool parts = count >= 1 && count * 4 % gpus == 0;
    if (parts && has_count(cluster, count)) counts.insert(count);
  }
  return {counts.begin(), counts.end()};
}

// Parts of a node double up to the node, and nodes double.
std::int64_t next_rung(int gpus, const Cluster& cluster) {
  const int node = cluster.domain_size();
  if (gpus == 0) return 1;
  return gpus < node ? std::min(2 * gpus, node) : std::int64_t{2} * gpus;
}

// Speed per GPU next to that of the first count that fits.
void fill_efficiency(std::vector<ScalePoint>& points) {
  const ScalePoint* first = nullptr;
  for (ScalePoint& point : points) {
    if (!point.layout) continue;
    if (first == nullptr) first = &point;
    point.efficiency = point.tokens_per_second_per_gpu / first->tokens_per_second_per_gpu;
  }
}

}  // namespace

Scaling scaling(const Scenario& scenario, const SearchOptions& search_options,
                const ScalingOptions& options) {
  check_objective(options.objective, scenario.cluster);
  SearchOptions few = search_options;
  few.top = 1;
  Scaling result;
  for (const int gpus : options.gpus) look_at(result, scenario, gpus, few, options);
  keep_undominated(result.choices);
  fill_efficiency(result.points);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const ScalePoint& point = result.points[i];
    if (!point.layout) continue;
    const bool better = !result.best || better_value(options.objective, point.objective,
                                                     result.points[*result.best].objective);
    if (better) result.best = i;
  }
  return result;
}

Scaling scaling_around(const Plan& plan, const SearchOptions& search) {
  const std::vector<int> counts = counts_around(plan.cluster);
  if (plan.ranked.empty() || counts.size() < 2) return {};
  SearchOptions larger = search;  // more GPUs have more sizes
  larger.most_work *= std::max(1, counts.back() / plan.cluster.num_gpus());
  Scaling found =
      scaling(plan, larger, {.gpus = counts, .objective = Objective::step_time, .limits = {}});
  return {.points = std::move(found.points), .choices = {}, .best = {}};
}

Scaling least_gpus(const Scenario& scenario, const SearchOptions& search,
                   const ScalingOptions& options, int failed) {
  const Cluster& cluster = scenario.cluster;
  Scaling found;
  const auto is_enough = [&](int gpus) {
    SearchOptions one = search;
    one.top = 1;
    one.most_work *= std::max(1, gpus / cluster.num_gpus());  // more GPUs have more sizes
    look_at(found, scenario, gpus, one, options);
    return found.points.back().layout.has_value();
  };
  LimitPair pair{.failed = failed};
  while (pair.works == 0) {
    const std::int64_t gpus = next_rung(pair.failed, cluster);
    if (gpus > kMostGpus || !has_count(cluster, gpus)) break;
    (is_enough(static_cast<int>(gpus)) ? pair.works : pair.failed) = static_cast<int>(gpus);
  }
  if (pair.works > 0) {
    pair = narrowed(
        pair, [&](LimitPair open) { return count_between(open, cluster); }, is_enough);
  }
  std::sort(found.points.begin(), found.points.end(),
            [](const ScalePoint& a, const ScalePoint& b) { return a.gpus < b.gpus; });
  for (std::size_t i = 0; i < found.points.size(); ++i) {
    if (found.points[i].gpus == pair.works) found.best = i;
  }
  fill_efficiency(found.points);
  found.choices.clear();
  return found;
}

}  // namespace meshwright::planner
