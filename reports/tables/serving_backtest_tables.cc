// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/serving_backtest_tables.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

constexpr std::size_t kMostMisses = 15;

}  // namespace

Table serving_scores_table(const ServingBacktestFile& file) {
  Table table{"errors: predicted / measured - 1",
              {{"group", "group", ""},
               {"quantity", "quantity", ""},
               {"points", "points", ""},
               {"median_percent", "median", "%", 3},
               {"mean_percent", "mean", "%", 3},
               {"p90_percent", "p90", "%", 3},
               {"bias_percent", "bias", "%", 3},
               {"covered_percent", "in 90 %", "%", 3}},
              {}};
  for (const planner::ServingScore& one : file.scores) {
    table.rows.push_back({one.group, spoken(name_of(one.quantity)), static_cast<double>(one.points),
                          one.median * 100, one.mean * 100, one.p90 * 100, one.bias * 100,
                          one.covered * 100});
  }
  return table;
}

Table serving_misses_table(const ServingBacktestFile& file) {
  Table table{"largest errors of throughput",
              {{"id", "point", ""},
               {"deployment", "deployment", ""},
               {"users", "users", ""},
               {"measured", "measured", "tok/s"},
               {"predicted", "predicted", "tok/s"},
               {"error_percent", "error", "%", 3}},
              {}};
  const std::size_t q = planner::place_of(planner::ServingQuantity::output_tps);
  std::vector<std::pair<double, const ServingBacktestPoint*>> worst;
  for (const ServingBacktestPoint& one : file.points) {
    if (!one.measured[q] || !one.predicted[q]) continue;
    worst.emplace_back(*one.predicted[q] / *one.measured[q] - 1.0, &one);
  }
  std::stable_sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) {
    return std::abs(a.first) > std::abs(b.first);
  });
  if (worst.size() > kMostMisses) worst.resize(kMostMisses);
  for (const auto& [error, point] : worst) {
    table.rows.push_back({point->id.substr(0, 48), point->deployment,
                          point->concurrency > 0 ? Cell(point->concurrency) : Cell(),
                          *point->measured[q], *point->predicted[q], error * 100});
  }
  return without_empty_columns(table);
}

}  // namespace meshwright::reports
