// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/capacity_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tuple>

#include "planner/capacity/frontier.h"
#include "planner/capacity/limits.h"
#include "planner/search/limit_search.h"

namespace meshwright::planner {
namespace {

constexpr int kMostChange = 8;          // the batch changes by an eighth at most
constexpr double kWorthAChange = 0.99;  // of the days with a batch that is nearer

// The key with each batch near its own, without what-ifs: they do not choose the batch.
std::vector<RowKey> keys_near(const RowKey& key) {
  std::vector<RowKey> keys;
  for (const int batch : batches_near(key.global_batch_size, key.gpus)) {
    keys.push_back({key.cluster_case, key.gpus, batch, {}});
  }
  return keys;
}

auto place_of(const CapacityRow& row) {
  return std::tuple(row.cluster_case, !row.scheduled, row.stated_batch_size);
}

// Against the fewest GPUs that fit, of the same cluster and batch.
void fill_efficiency(std::vector<CapacityRow>& rows) {
  for (CapacityRow& row : rows) {
    if (!row.fits()) continue;
    const CapacityRow* first = &row;
    for (const CapacityRow& other : rows) {
      const bool same = other.fits() && place_of(other) == place_of(row);
      if (same && other.gpus < first->gpus) first = &other;
    }
    row.efficiency = (first->run.time.elapsed * first->gpus) / (row.run.time.elapsed * row.gpus);
  }
}

// Whether a row is on the good side of the limit that is refined: the deadline, else any.
bool holds(const CapacityRow& row, const std::optional<double>& allowed) {
  return allowed ? row.fits() && row.run.days.p90 <= *allowed : row.keeps_limits();
}

// The limit between a row and the one before it of its cluster and batch; nothing: there is none.
std::optional<LimitPair> limit_at(const CapacityQuestion& question, const CapacityRow* before,
                                  const CapacityRow& row) {
  const std::optional<double> allowed = days_allowed(question.options);
  if (allowed) {
    const bool starts = before == nullptr ? question.any_gpus : !holds(*before, allowed);
    if (!starts || !holds(row, allowed)) return std::nullopt;
    return LimitPair{before == nullptr ? 0 : before->gpus, row.gpus};
  }
  const bool ends = question.options.limits.budget && before != nullptr &&
                    holds(*before, allowed) && !holds(row, allowed);
  return ends ? std::optional(LimitPair{row.gpus, before->gpus}) : std::nullopt;
}

CapacityRow row_for(const CapacityQuestion& question, RowKey key, LayoutFinder& finder) {
  const int stated = key.global_batch_size;
  if (question.batch_follows) key = with_suited_batch(question, key, finder);
  finder.find(searches_of(question, key));
  CapacityRow row = row_of(question, key, finder);
  row.stated_batch_size = stated;
  return row;
}

void add_counts_at_limits(std::vector<CapacityRow>& rows, const CapacityQuestion& question,
                          const std::vector<RowKey>& grid, LayoutFinder& finder) {
  const std::optional<double> allowed = days_allowed(question.options);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const bool same = i > 0 && place_of(rows[i - 1]) == place_of(rows[i]);
    const auto limit = limit_at(question, same ? &rows[i - 1] : nullptr, rows[i]);
    if (!limit) continue;
    const Cluster& cluster = question.clusters[grid[i].cluster_case].cluster;
    narrowed(
        *limit, [&](LimitPair pair) { return count_between(pair, cluster); },
        [&](int gpus) {
          RowKey key = grid[i];
          key.gpus = gpus;
          rows.push_back(row_for(question, key, finder));
          rows.back().between = true;
          return holds(rows.back(), allowed);
        });
  }
}

// In the order of clusters, batches and GPUs. Two stated batches may follow a count to one.
void put_in_order(std::vector<CapacityRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const CapacityRow& a, const CapacityRow& b) {
    return std::tuple(place_of(a), a.gpus) < std::tuple(place_of(b), b.gpus);
  });
  std::vector<CapacityRow> kept;
  for (CapacityRow& row : rows) {
    const bool again = std::any_of(kept.begin(), kept.end(), [&](const CapacityRow& other) {
      return other.cluster_case == row.cluster_case && other.scheduled == row.scheduled &&
             other.gpus == row.gpus && other.asked_batch_size == row.asked_batch_size;
    });
    if (!again) kept.push_back(std::move(row));
  }
  rows = std::move(kept);
}

}  // namespace

std::vector<RowKey> grid_of(const CapacityQuestion& question) {
  std::string what_ifs = fmt::format("{}", fmt::join(question.what_ifs, ","));
  const std::vector<BatchPhase>& schedule = question.options.schedule;
  std::vector<RowKey> keys;
  for (std::size_t i = 0; i < question.clusters.size(); ++i) {
    for (const int gpus : question.gpus) {
      if (schedule.empty() || !question.with_schedule) break;
      keys.push_back({i, gpus, schedule.back().global_batch_size, what_ifs, true});
    }
    for (const int batch : question.global_batch_sizes) {
      for (const int gpus : question.gpus) keys.push_back({i, gpus, batch, what_ifs});
    }
  }
  return keys;
}

std::vector<int> batches_near(int stated, int gpus) {
  std::vector<int> batches{stated};
  for (int unit = odd_part(gpus); gpus % unit == 0; unit *= 2) {
    const int below = stated / unit * unit;
    const int nearest = stated - below <= unit / 2 ? below : below + unit;
    const bool is_near = nearest > 0 && std::abs(nearest - stated) <= stated / kMostChange;
    if (is_near && nearest != batches.back()) batches.push_back(nearest);
  }
  return batches;
}

RowKey with_suited_batch(const CapacityQuestion& question, RowKey key, LayoutFinder& finder) {
  if (key.scheduled || !question.layouts.empty()) return key;
  const std::vector<RowKey> near = keys_near(key);
  if (near.size() == 1) return key;
  std::optional<double> fewest_days;
  for (const RowKey& other : near) {
    finder.find(searches_of(question, other));
    const CapacityRow row = row_of(question, other, finder);
    if (!row.fits()) continue;
    const double days = row.run.days.p50;
    if (fewest_days && days >= kWorthAChange * *fewest_days) continue;
    fewest_days = days;
    key.global_batch_size = other.global_batch_size;
  }
  return key;
}

std::vector<CapacityRow> capacity_rows(const CapacityQuestion& question, LayoutFinder& finder,
                                       const CapacityProgress& progress) {
  const std::vector<RowKey> grid = grid_of(question);
  std::vector<SearchKey> searches;
  for (const RowKey& key : grid) {
    const bool follows = question.batch_follows && !key.scheduled;
    for (const RowKey& near : follows ? keys_near(key) : std::vector{key}) {
      for (const SearchKey& mine : searches_of(question, near)) searches.push_back(mine);
    }
  }
  finder.find(searches, progress);
  std::vector<CapacityRow> rows;
  for (const RowKey& key : grid) rows.push_back(row_for(question, key, finder));
  if (question.refines) add_counts_at_limits(rows, question, grid, finder);
  put_in_order(rows);
  fill_efficiency(rows);
  return rows;
}

}  // namespace meshwright::planner
