// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/frontier.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::planner {
namespace {

bool beats(const FrontierPoint& a, const FrontierPoint& b) {
  const bool as_good = a.days <= b.days && a.cost <= b.cost;
  return as_good && (a.days < b.days || a.cost < b.cost);
}

// A factor of the count that the batch does not have leaves fewer layouts.
std::string why_dominated(const CapacityRow& row) {
  const int odd = odd_part(row.gpus);
  if (row.global_batch_size % odd == 0) return "";
  return fmt::format("batch {} is not divisible by the factor {} of {}",
                     count_text(row.global_batch_size), odd, count_text(row.gpus));
}

}  // namespace

double cost_per_day_saved(const FrontierPoint& slower, const FrontierPoint& faster) {
  return (faster.cost - slower.cost) / (slower.days - faster.days);
}

bool all_priced(const std::vector<CapacityRow>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const CapacityRow& row) {
    return !row.fits() || row.run.cost.has_value();
  });
}

int odd_part(int count) {
  while (count > 1 && count % 2 == 0) count /= 2;
  return count;
}

std::vector<int> batches_near(int global_batch_size, int gpus) {
  constexpr int kRanks = 64;
  const int unit = odd_part(gpus) * kRanks;
  const int below = global_batch_size / unit * unit;
  std::vector<int> batches;
  if (below > 0) batches.push_back(below);
  if (below != global_batch_size) batches.push_back(below + unit);
  return batches;
}

void try_near_batches(std::vector<FrontierPoint>& points, const std::vector<CapacityRow>& rows,
                      const CapacityQuestion& question, LayoutFinder& finder) {
  const bool priced = all_priced(rows);
  const auto cost = [priced](const CapacityRow& row) {
    return priced && row.run.cost ? row.run.cost->p50 : row.run.gpu_hours.p50;
  };
  for (FrontierPoint& point : points) {
    const CapacityRow& row = rows[point.row];
    if (point.reason.empty() || row.scheduled || !question.layouts.empty()) continue;
    std::optional<CapacityRow> best;
    for (const int batch : batches_near(row.asked_batch_size, row.gpus)) {
      const RowKey key{row.cluster_case, row.gpus, batch,
                       fmt::format("{}", fmt::join(question.what_ifs, ","))};
      finder.find(searches_of(question, key));
      CapacityRow there = row_of(question, key, finder);
      if (there.fits() && (!best || cost(there) < cost(*best))) best = std::move(there);
    }
    if (!best || !question.train_tokens || cost(*best) >= point.cost) continue;
    constexpr double kMillion = 1e6;
    point.reason +=
        fmt::format("; batch {} takes {} days and {} M {}", count_text(best->global_batch_size),
                    number_text(best->run.days.p50, 3), number_text(cost(*best) / kMillion, 3),
                    priced ? question.options.prices.currency
                           : with_device_noun("GPU-hours", question.device_kind()));
  }
}

std::vector<FrontierPoint> frontier_of(const std::vector<CapacityRow>& rows) {
  const bool priced = all_priced(rows);
  std::vector<FrontierPoint> points;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].fits()) continue;
    const TrainingRun& run = rows[i].run;
    points.push_back(
        {.row = i, .days = run.days.p50, .cost = priced ? run.cost->p50 : run.gpu_hours.p50});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.days > b.days; });
  const FrontierPoint* slower = nullptr;
  for (FrontierPoint& point : points) {
    const FrontierPoint* by = nullptr;  // the cheapest that beats it
    for (const FrontierPoint& other : points) {
      if (beats(other, point) && (by == nullptr || other.cost < by->cost)) by = &other;
    }
    if (by != nullptr) {
      point.dominated_by = by->row;
      point.reason = why_dominated(rows[point.row]);
      continue;
    }
    if (slower != nullptr && slower->days > point.days) {
      point.slower = slower->row;
      point.cost_per_day_saved = cost_per_day_saved(*slower, point);
    }
    slower = &point;
  }
  return points;
}

}  // namespace meshwright::planner
