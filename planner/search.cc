// SPDX-License-Identifier: Apache-2.0
#include "planner/search.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "planner/pareto.h"
#include "planner/rejection.h"
#include "planner/space.h"
#include "sim/error.h"
#include "sim/names.h"

namespace meshwright::planner {
namespace {

constexpr std::size_t kClosest = 3;

// What one cell contributes: its size does not depend on how many layouts were looked at.
struct Found {
  SearchStatistics statistics;
  RejectionTally rejections;
  TopList top;
  ParetoFront pareto;
  // Legal, but larger than memory: least memory first. step_time is not known and stays 0.
  TopList closest{kClosest};

  explicit Found(std::size_t limit) : top(limit) {}

  void merge(const Found& later) {
    statistics.enumerated += later.statistics.enumerated;
    statistics.legal += later.statistics.legal;
    statistics.fitting += later.statistics.fitting;
    rejections.merge(later.rejections);
    for (const Candidate& c : later.top.items()) top.add(c);
    for (const Candidate& c : later.pareto.items()) pareto.add(c);
    for (const Candidate& c : later.closest.items()) closest.add(c);
  }
};

void look_at_family(Found& found, CostTable& table, const SearchSpace& space, const Layout& family,
                    Bytes limit) {
  std::vector<Candidate> fitting;
  for (const Layout& layout : members_of(space, family)) {
    const Evaluation evaluation = evaluate_within(table, layout, limit);
    ++found.statistics.enumerated;
    if (evaluation.violation) {
      found.rejections.add(*evaluation.violation, layout);
      if (evaluation.violation->rule != Rule::memory_capacity) continue;
      ++found.statistics.legal;
      found.closest.add({layout, seconds(0), evaluation.peak_memory});
      continue;
    }
    ++found.statistics.legal;
    ++found.statistics.fitting;
    fitting.push_back({layout, evaluation.step_time, evaluation.peak_memory});
  }
  for (const Candidate& candidate : without_near_twins(fitting)) {
    found.top.add(candidate);
    found.pareto.add(candidate);
  }
}

// Cells are looked at in parallel and merged in their order, so that the number of threads changes
// nothing.
Found look_at_all(const Plan& plan, const SearchOptions& options, Bytes limit) {
  const std::vector<Cell> cells = cells_of(plan.model, plan.cluster, options.space);
  const auto top = static_cast<std::size_t>(std::max(1, options.top));
  std::vector<Found> parts(cells.size(), Found(top));
  tbb::parallel_for(std::size_t{0}, cells.size(), [&](std::size_t i) {
    CostTable table(plan.model, plan.cluster, plan.job);
    for (const Layout& family : families_of(plan.model, plan.job, options.space, cells[i])) {
      look_at_family(parts[i], table, options.space, family, limit);
    }
  });
  Found all(top);
  for (const Found& part : parts) all.merge(part);
  return all;
}

Estimate estimate_of(const Plan& plan, const Layout& layout) {
  Outcome outcome = estimate(plan.model, plan.cluster, plan.job, layout);
  invariant(std::holds_alternative<Estimate>(outcome), "the search kept a layout that cannot run");
  return std::get<Estimate>(std::move(outcome));
}

// The fastest, then what else of the Pareto front is slower than those; both are sorted by time.
void fill_ranked(Plan& plan, const Found& found) {
  std::vector<Candidate> kept = found.top.items();
  for (const Candidate& candidate : found.pareto.items()) {
    const bool there = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
      return other.layout == candidate.layout;
    });
    if (!there) kept.push_back(candidate);
  }
  std::stable_sort(kept.begin(), kept.end(), better);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    plan.ranked.push_back(estimate_of(plan, kept[i].layout));
    const bool on_front =
        std::any_of(found.pareto.items().begin(), found.pareto.items().end(),
                    [&](const Candidate& candidate) { return candidate.layout == kept[i].layout; });
    if (on_front) plan.pareto.push_back(i);
  }
}

void fill_closest(Plan& plan, const Found& found, CostTable& table, Bytes limit) {
  for (const Candidate& candidate : found.closest.items()) {
    const Violation violation{Rule::memory_capacity, candidate.peak_memory.value(), limit.value()};
    std::string change = smallest_change(table, candidate.layout, limit);
    if (change.empty()) {
      change = change_on_more_gpus(table, candidate.layout, limit);
    }
    plan.closest.push_back({Rule::memory_capacity,
                            1,
                            {candidate.layout, violation},
                            describe(violation, plan.model, plan.job, candidate.layout),
                            change});
    plan.notes.push_back(fmt::format(
        "Closest: {} needs {:.2f} of {:.2f} GiB; {}.", short_name(candidate.layout),
        in_gibibytes(candidate.peak_memory), in_gibibytes(limit),
        change.empty() ? "no single change was found that makes it fit" : "would fit: " + change));
  }
}

}  // namespace

Plan search(const Model& model, const Cluster& cluster, const Job& job,
            const SearchOptions& options) {
  if (options.memory_headroom < 0.0 || options.memory_headroom >= 1.0) {
    throw InputError(
        "memory_headroom", "",
        fmt::format("must be a share from 0 to below 1, is {}", options.memory_headroom));
  }
  Plan plan;
  plan.model = model;
  plan.cluster = cluster;
  plan.job = job;
  const Bytes limit = cluster.device.memory * (1.0 - options.memory_headroom);
  const Found found = look_at_all(plan, options, limit);
  plan.statistics = found.statistics;
  CostTable table(model, cluster, job);
  plan.rejections = rejections_of(found.rejections, table, limit);
  fill_ranked(plan, found);
  if (plan.ranked.empty()) fill_closest(plan, found, table, limit);
  if (plan.statistics.enumerated == 0) {
    plan.notes.push_back(
        fmt::format("No sizes of this space multiply to {} GPUs.", cluster.num_gpus()));
  }
  if (options.memory_headroom > 0.0) {
    plan.notes.push_back(fmt::format("{:.3g} % of the device's memory is left free.",
                                     options.memory_headroom * 100.0));
  }
  return plan;
}

}  // namespace meshwright::planner
