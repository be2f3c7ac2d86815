// SPDX-License-Identifier: Apache-2.0
#include "planner/search/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/search/search_layouts.h"
#include "planner/search/shared_tables.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {
namespace {

Estimate estimate_of(CostTable& table, const Layout& layout) {
  Outcome outcome = estimate(table, layout);
  invariant(std::holds_alternative<Estimate>(outcome), "the search kept a layout that cannot run");
  return std::get<Estimate>(std::move(outcome));
}

// The fastest, then what else of the Pareto front is slower than those; both are sorted by time.
std::vector<FoundLayout> kept_of(const SearchResult& result) {
  const std::vector<Candidate> front = front_without_near_duplicates(result.pareto.items());
  const std::vector<Candidate> top = result.top.items();
  std::vector<FoundLayout> kept;
  kept.reserve(top.size() + front.size());
  for (const Candidate& candidate : top) kept.push_back({candidate});
  for (const Candidate& candidate : front) {
    // A layout of both lists has the same time in both; the fastest are sorted by it.
    const auto [first, last] = std::equal_range(
        top.begin(), top.end(), candidate,
        [](const Candidate& a, const Candidate& b) { return a.step_time < b.step_time; });
    const auto same = std::find_if(
        first, last, [&](const Candidate& other) { return other.layout == candidate.layout; });
    if (same == last) {
      kept.push_back({candidate, true});
    } else {
      kept[static_cast<std::size_t>(same - top.begin())].on_front = true;
    }
  }
  std::stable_sort(kept.begin(), kept.end(), [](const FoundLayout& a, const FoundLayout& b) {
    return better(a.candidate, b.candidate);
  });
  return kept;
}

void fill_closest(Plan& plan, const SearchResult& result, CostTable& table, Bytes limit) {
  for (const Candidate& candidate : result.closest.items()) {
    const Violation violation{Rule::memory_capacity, candidate.peak_memory.value(), limit.value()};
    std::string change = smallest_change(table, candidate.layout, limit);
    if (change.empty()) {
      change = change_on_more_gpus(table, candidate.layout, limit);
    }
    plan.closest.push_back(
        {Rule::memory_capacity,
         1,
         {candidate.layout, violation},
         describe(violation, plan.model, plan.job, candidate.layout, devices_of(plan.cluster)),
         change});
    plan.notes.push_back(fmt::format(
        "Closest: {} needs {:.2f} of {:.2f} GiB; {}.", short_name(candidate.layout),
        in_gibibytes(candidate.peak_memory), in_gibibytes(limit),
        change.empty() ? "no single change was found that makes it fit" : "would fit: " + change));
  }
}

std::string target_note(const Plan& plan) {
  std::int64_t count = 0;
  std::string reasons;
  for (const auto& [why, layouts] : plan.not_expressible) {
    count += layouts;
    reasons += fmt::format("; {} because {}", layouts, why);
  }
  if (count == 0) return fmt::format("{} can express every layout of the space.", plan.target);
  return fmt::format("{} valid layouts were excluded because {} cannot express them{}.", count,
                     plan.target, reasons);
}

}  // namespace

Bytes usable_memory(const Scenario& scenario, const SearchOptions& options) {
  return only_device(scenario.cluster).memory * (1.0 - options.memory_headroom);
}

FoundLayouts find_layouts(const Scenario& scenario, const SearchOptions& options) {
  if (options.memory_headroom < 0.0 || options.memory_headroom >= 1.0) {
    throw InputError(
        "memory_headroom", "",
        fmt::format("must be a share from 0 to below 1 (got {})", options.memory_headroom));
  }
  FoundLayouts found;
  Plan& plan = found.plan;
  static_cast<Scenario&>(plan) = scenario;
  const Bytes limit = usable_memory(scenario, options);
  const SearchResult result = search_layouts(scenario, options, limit);
  plan.notes = result.notes;
  plan.statistics = result.statistics;
  plan.target = options.target.name;
  plan.not_expressible = result.not_expressible;
  const auto tables = tables_of(options, scenario);
  CostTable& table = tables->local();
  plan.rejections = rejections_of(result.rejections, table, limit);
  found.layouts = kept_of(result);
  if (found.layouts.empty()) fill_closest(plan, result, table, limit);
  if (plan.statistics.enumerated == 0) {
    const int num_gpus = scenario.cluster.num_gpus();
    plan.notes.push_back(fmt::format("No sizes of this space multiply to {} {}.", num_gpus,
                                     device_noun(scenario.cluster, num_gpus)));
  }
  if (!plan.target.empty()) plan.notes.push_back(target_note(plan));
  if (options.memory_headroom > 0.0) {
    plan.notes.push_back(fmt::format("{} % of the device's memory is left free (--headroom).",
                                     number_text(options.memory_headroom * 100.0, 3)));
  }
  return found;
}

Plan with_estimates(Plan plan, const std::vector<FoundLayout>& layouts,
                    const SearchOptions& options) {
  const auto tables = tables_of(options, plan);
  for (const FoundLayout& found : layouts) {
    if (found.on_front) plan.pareto.push_back(plan.ranked.size());
    plan.ranked.push_back(estimate_of(tables->local(), found.candidate.layout));
  }
  return plan;
}

Plan search(const Scenario& scenario, const SearchOptions& options) {
  FoundLayouts found = find_layouts(scenario, options);
  return with_estimates(std::move(found.plan), found.layouts, options);
}

}  // namespace meshwright::planner
