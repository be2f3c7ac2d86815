// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/learning_curve.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "planner/accuracy/backtest.h"
#include "planner/accuracy/learning.h"
#include "sim/base/statistics.h"

namespace meshwright::planner {
namespace {

MeasuredSet only(const MeasuredSet& set, const std::vector<std::size_t>& runs) {
  MeasuredSet some{set.name, set.source, set.assumed, {}};
  for (const std::size_t i : runs) some.runs.push_back(set.runs[i]);
  return some;
}

MeasuredSet with_known(MeasuredSet set, const std::vector<std::size_t>& known) {
  if (known.empty()) return set;
  const Learning learning = learn(only(set, known), all_framework_scalars(), set);
  for (MeasuredRun& run : set.runs) run.cluster = with_learnt(run.cluster, learning);
  return set;
}

// Regret in per cent: measured step of the layout that is predicted fastest, relative to the
// fastest measured step.
double regret_percent(const std::vector<std::pair<double, double>>& seeming_measured) {
  const auto chosen = *std::min_element(seeming_measured.begin(), seeming_measured.end());
  double best = chosen.second;
  for (const auto& [seeming, measured] : seeming_measured) best = std::min(best, measured);
  return 100.0 * (chosen.second / best - 1.0);
}

// The first `count` of 0 ... n - 1 in an order that the seed decides alone.
std::vector<std::size_t> random_runs(std::vector<std::size_t> from, int count, unsigned seed) {
  std::mt19937 random(seed);
  for (std::size_t i = from.size(); i > 1; --i) std::swap(from[i - 1], from[random() % i]);
  from.resize(std::min(from.size(), static_cast<std::size_t>(count)));
  return from;
}

CurvePoint mean_error_of(const std::vector<CurvePoint>& points) {
  CurvePoint result{points.front().runs, 0, std::nullopt, 0, 0};
  const auto n = static_cast<double>(points.size());
  for (const CurvePoint& p : points) {
    result.median_error_percent += p.median_error_percent / n;
    result.coverage_percent += p.coverage_percent / n;
    result.width_percent += p.width_percent / n;
    if (p.regret_percent) {
      result.regret_percent = result.regret_percent.value_or(0.0) + *p.regret_percent / n;
    }
  }
  return result;
}

}  // namespace

CurvePoint known_point(const MeasuredSet& set, const std::vector<std::size_t>& known) {
  const Backtest judged = backtest(with_known(set, known));
  std::vector<double> errors;
  std::map<std::string, std::vector<std::pair<double, double>>> groups;
  CurvePoint point;
  point.runs = static_cast<int>(known.size());
  double inside = 0.0, width = 0.0;
  for (const PredictedRun& run : judged.runs) {
    if (!run.step_time_error) continue;
    const MeasuredRun& measured = set.runs[run.run];
    const double took = measured.step_time->value();
    const bool is_known = std::find(known.begin(), known.end(), run.run) != known.end();
    const double seems = is_known ? took : run.estimate->step_time.value();
    groups[measured.group].emplace_back(seems, took);
    if (is_known) continue;
    errors.push_back(100.0 * std::abs(*run.step_time_error));
    inside += run.inside_interval ? 1.0 : 0.0;
    width += (run.estimate->step_time_high - run.estimate->step_time_low) / run.estimate->step_time;
  }
  std::vector<double> regrets;
  for (const auto& [name, runs] : groups) {
    if (runs.size() >= 2) regrets.push_back(regret_percent(runs));
  }
  if (!regrets.empty()) point.regret_percent = mean(regrets);
  const auto n = static_cast<double>(std::max<std::size_t>(1, errors.size()));
  point.median_error_percent = errors.empty() ? 0.0 : median(errors);
  point.coverage_percent = 100.0 * inside / n;
  point.width_percent = 100.0 * width / n;
  return point;
}

LearningCurve learning_curve(const MeasuredSet& set, const std::vector<int>& counts,
                             int random_seeds) {
  LearningCurve curve;
  curve.set = set.name;
  const std::vector<FrameworkScalar> scalars = all_framework_scalars();
  const std::vector<std::size_t> usable = usable_runs(set);
  curve.runs = static_cast<int>(usable.size());
  const int most = *std::max_element(counts.begin(), counts.end());
  const std::vector<std::size_t> order = runs_to_make(set, scalars, std::min(most, curve.runs - 1));
  for (const int count : counts) {
    if (count >= curve.runs) continue;
    curve.telling.push_back(known_point(set, {order.begin(), order.begin() + count}));
    std::vector<CurvePoint> drawn;
    for (int seed = 1; seed <= (count == 0 ? 1 : random_seeds); ++seed) {
      drawn.push_back(known_point(set, random_runs(usable, count, static_cast<unsigned>(seed))));
    }
    curve.random.push_back(mean_error_of(drawn));
  }
  return curve;
}

}  // namespace meshwright::planner
