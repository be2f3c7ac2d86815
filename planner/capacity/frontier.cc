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
