// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/recommendation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "planner/capacity/limits.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::planner {
namespace {

using Value = std::function<double(const CapacityRow&)>;

std::vector<std::size_t> places_of(const std::vector<CapacityRow>& rows,
                                   const std::function<bool(const CapacityRow&)>& holds) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (holds(rows[i])) places.push_back(i);
  }
  return places;
}

std::optional<std::size_t> least(const std::vector<CapacityRow>& rows,
                                 const std::vector<std::size_t>& places, const Value& value) {
  const auto best = std::min_element(
      places.begin(), places.end(),
      [&](std::size_t a, std::size_t b) { return value(rows[a]) < value(rows[b]); });
  return best == places.end() ? std::nullopt : std::optional(*best);
}

// By how much of itself the worst limit is missed.
double excess(const CapacityRow& row, const CapacityOptions& options) {
  const CapacityLimits& limits = options.limits;
  double most = 0.0;
  const auto look = [&](double value, double limit) { most = std::max(most, value / limit - 1.0); };
  if (limits.max_gpus) look(row.gpus, *limits.max_gpus);
  if (const auto allowed = days_allowed(options)) look(row.run.days.p90, *allowed);
  if (limits.budget && row.run.cost) look(row.run.cost->p90, *limits.budget);
  if (limits.max_megawatts && row.run.megawatts_high) {
    look(*row.run.megawatts_high, *limits.max_megawatts);
  }
  return most;
}

}  // namespace

Recommendation recommend(const std::vector<CapacityRow>& rows, const CapacityQuestion& question) {
  const CapacityOptions& options = question.options;
  const std::string hours = with_device_noun("GPU-hours", question.device_kind());
  const auto fitting = places_of(rows, [](const CapacityRow& row) { return row.fits(); });
  const auto keeping = places_of(rows, [](const CapacityRow& row) { return row.keeps_limits(); });
  const bool priced = std::all_of(fitting.begin(), fitting.end(),
                                  [&](std::size_t i) { return rows[i].run.cost.has_value(); });
  const Value cost = [&](const CapacityRow& row) {
    return priced ? row.run.cost->p50 : row.run.gpu_hours.p50;
  };
  const Value days = [](const CapacityRow& row) { return row.run.days.p50; };
  Recommendation answer;
  if (keeping.empty()) {
    answer.closest =
        least(rows, fitting, [&](const CapacityRow& row) { return excess(row, options); });
    answer.reason = fitting.empty() ? "no layout fits in memory on any row"
                                    : "no row meets all limits; the marked row misses by the least";
    return answer;
  }
  answer.smallest = least(rows, keeping, [&](const CapacityRow& row) { return row.gpus; });
  answer.cheapest = least(rows, keeping, cost);
  answer.fastest = least(rows, keeping, days);
  const std::string money = priced ? "the cheapest" : "the least " + hours;
  const std::string of = fmt::format("of the {} rows that meet all limits", keeping.size());
  if (days_allowed(options)) {
    answer.recommended = answer.cheapest;
    answer.reason = fmt::format("{} {}", money, of);
  } else if (options.limits.budget) {
    answer.recommended = answer.fastest;
    answer.reason = fmt::format("the fastest {}", of);
  } else {
    answer.recommended =
        least(rows, keeping, [&](const CapacityRow& row) { return days(row) * cost(row); });
    answer.reason = fmt::format(
        "no deadline or budget is set: the smallest product of days and {}; with more "
        "{}, each day saved costs more than its share",
        priced ? "cost" : hours, device_noun(question.device_kind(), 2));
  }
  return answer;
}

}  // namespace meshwright::planner
