// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/recommendation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "planner/capacity/frontier.h"
#include "planner/capacity/limits.h"
#include "sim/base/number_text.h"
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

// A row of the count that was asked for, where there is one.
bool may_be_taken(const CapacityRow& row, const CapacityQuestion& question) {
  return !question.asked_gpus || row.gpus == *question.asked_gpus;
}

// The fewest GPUs that cost at most 1 % more than the cheapest row: no cost is known better.
std::optional<std::size_t> fewest_near(const std::vector<CapacityRow>& rows,
                                       std::vector<std::size_t> places, double least_cost,
                                       const Value& cost) {
  constexpr double kNoDifference = 1.01;
  std::erase_if(places,
                [&](std::size_t place) { return cost(rows[place]) > kNoDifference * least_cost; });
  return least(rows, places, [](const CapacityRow& row) { return row.gpus; });
}

void choose(Recommendation& answer, const std::vector<CapacityRow>& rows,
            const std::vector<std::size_t>& keeping, const CapacityQuestion& question,
            const Value& cost) {
  const CapacityOptions& options = question.options;
  const bool priced = all_priced(rows);
  const std::string of = fmt::format("of the {} rows that meet all limits", keeping.size());
  if (priced && options.day_worth) {
    const double worth = *options.day_worth;
    answer.recommended = least(rows, keeping, [&](const CapacityRow& row) {
      return cost(row) + worth * row.run.days.p50;
    });
    answer.reason = fmt::format("the least cost plus {} {} for each day, {}",
                                count_text(std::llround(worth)), options.prices.currency, of);
  } else if (days_allowed(options)) {
    answer.recommended = fewest_near(rows, keeping, cost(rows[*answer.cheapest]), cost);
    answer.reason = priced ? "the cheapest"
                           : "the least " + with_device_noun("GPU-hours", question.device_kind());
    if (answer.recommended != answer.cheapest) {
      answer.reason = with_device_noun("the fewest GPUs within 1 % of ", question.device_kind()) +
                      answer.reason;
    }
    answer.reason += " " + of;
  } else if (options.limits.budget) {
    answer.recommended = answer.fastest;
    answer.reason = fmt::format("the fastest {}", of);
  } else {
    answer.reason =
        "no row is recommended: no deadline, no budget and no worth of a day is stated "
        "(--deadline, --budget, --day-worth)";
    return;
  }
  if (keeping.size() == 1) answer.reason = "the only row that meets all limits";
}

}  // namespace

Recommendation recommend(const std::vector<CapacityRow>& rows, const CapacityQuestion& question) {
  const CapacityOptions& options = question.options;
  const auto fitting = places_of(
      rows, [&](const CapacityRow& row) { return row.fits() && may_be_taken(row, question); });
  const auto keeping = places_of(rows, [&](const CapacityRow& row) {
    return row.keeps_limits() && may_be_taken(row, question);
  });
  const bool priced = all_priced(rows);
  const Value cost = [priced](const CapacityRow& row) {
    return priced ? row.run.cost->p50 : row.run.gpu_hours.p50;
  };
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
  answer.fastest = least(rows, keeping, [](const CapacityRow& row) { return row.run.days.p50; });
  choose(answer, rows, keeping, question, cost);
  return answer;
}

}  // namespace meshwright::planner
