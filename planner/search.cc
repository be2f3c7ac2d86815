// SPDX-License-Identifier: Apache-2.0
#include "planner/search.h"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "planner/cell_search.h"
#include "sim/error.h"
#include "sim/names.h"

namespace meshwright::planner {
namespace {

// Cells are looked at in parallel and merged in their order, so that the number of threads changes
// nothing. A thread's table serves all cells that it looks at.
Found look_at_all(const Plan& plan, const SearchOptions& options, Bytes limit) {
  const std::vector<Cell> cells = cells_of(plan.model, plan.cluster, options.space);
  const auto top = static_cast<std::size_t>(std::max(1, options.top));
  std::vector<Found> parts(cells.size(), Found(top));
  CellSearch search{options, limit};
  tbb::enumerable_thread_specific<CostTable> tables(
      [&plan] { return CostTable(plan.model, plan.cluster, plan.job); });
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, cells.size(), 1),
      [&](const tbb::blocked_range<std::size_t>& range) {
        for (std::size_t i = range.begin(); i < range.end(); ++i) {
          look_at_cell(parts[i], search, tables.local(), cells[i]);
        }
      },
      tbb::simple_partitioner());
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
  const std::vector<Candidate> front = front_without_near_twins(found.pareto.items());
  std::vector<Candidate> kept = found.top.items();
  for (const Candidate& candidate : front) {
    const bool there = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
      return other.layout == candidate.layout;
    });
    if (!there) kept.push_back(candidate);
  }
  std::stable_sort(kept.begin(), kept.end(), better);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    plan.ranked.push_back(estimate_of(plan, kept[i].layout));
    const bool on_front = std::any_of(front.begin(), front.end(), [&](const Candidate& candidate) {
      return candidate.layout == kept[i].layout;
    });
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
