// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/regime_fit.h"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/base/spread.h"
#include "sim/base/statistics.h"
#include "sim/step/evaluate.h"

namespace meshwright::planner {
namespace {

constexpr double kShareInside = 0.9;

// The spread of which nine in ten of these lie within 1.645.
double spread_of(std::vector<double> deviations) {
  for (double& d : deviations) d = std::abs(d);
  return quantile(std::move(deviations), kShareInside) / kIntervalDeviations;
}

// Errors less their group's mean, where a group has several.
std::vector<double> within_groups(const SetErrors& set) {
  std::map<std::string, std::vector<double>> groups;
  for (std::size_t i = 0; i < set.errors.size(); ++i) {
    groups[set.groups[i]].push_back(set.errors[i]);
  }
  std::vector<double> deviations;
  for (const auto& [name, errors] : groups) {
    if (errors.size() < 2) continue;
    const auto n = static_cast<double>(errors.size());
    const double middle = mean(errors);
    for (const double e : errors) deviations.push_back((e - middle) * std::sqrt(n / (n - 1.0)));
  }
  return deviations;
}

bool same_kind(const SetErrors& a, const SetErrors& b) {
  return a.regime == b.regime && a.experts == b.experts;
}

SetCoverage coverage_of(const SetErrors& set, std::size_t index, const RegimeSpread& spread) {
  SetCoverage result{index, spread, 0.0, 0.0};
  for (std::size_t i = 0; i < set.errors.size(); ++i) {
    const StepInterval interval = step_interval(seconds(1), spread, set.parts[i]);
    const Seconds measured = seconds(std::exp(set.errors[i]));
    if (interval.low <= measured && measured <= interval.high) result.inside += 1.0;
    result.width += std::log(interval.high / interval.low);
  }
  result.inside /= static_cast<double>(set.errors.size());
  result.width /= static_cast<double>(set.errors.size());
  return result;
}

// Falls from infinity to 0: halving finds where it is `value`.
double inverse_trigamma(double value) {
  double low = 1e-3, high = 1e6;
  for (int i = 0; i < 200; ++i) {
    const double middle = std::sqrt(low * high);
    (boost::math::trigamma(middle) > value ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

}  // namespace

SetErrors set_errors(const MeasuredSet& set) {
  SetErrors result;
  for (const MeasuredRun& run : set.runs) {
    if (!run.step_time || run.status != RunStatus::ok) continue;
    if (check_layout(run.model, run.job, run.layout, devices_of(run.cluster))) continue;
    CostTable table(run);
    const Evaluation found = evaluate(table, run.layout, MemoryLimit::reported);
    result.framework = run.cluster.framework.name;
    result.experts = run.model.moe.has_value();
    result.regime = interval_regime(run.cluster);
    result.errors.push_back(std::log(*run.step_time / found.step_time));
    result.parts.push_back(spread_of_parts(found.terms, found.step_time));
    result.groups.push_back(run.group);
  }
  return result;
}

SetSpread set_spread(const SetErrors& set) {
  SetSpread spread;
  spread.bias = median(set.errors);
  std::vector<double> deviations = set.errors;
  for (double& d : deviations) d -= spread.bias;
  spread.own = spread_of(std::move(deviations));
  std::vector<double> within = within_groups(set);
  if (!within.empty()) spread.between_layouts = spread_of(std::move(within));
  return spread;
}

std::optional<RegimeSpread> regime_spread(const std::vector<SetErrors>& sets) {
  std::vector<double> biases, own, between;
  for (const SetErrors& set : sets) {
    if (set.errors.size() < 2) continue;
    const SetSpread spread = set_spread(set);
    biases.push_back(spread.bias);
    own.push_back(spread.own);
    if (spread.between_layouts) between.push_back(*spread.between_layouts);
  }
  if (biases.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(biases.size());
  const double t = student_quantile(0.95, n - 1.0);
  const double shared = t * standard_deviation(biases) * std::sqrt(1.0 + 1.0 / n);
  const OwnPrior layouts = own_prior(between).value_or(OwnPrior{});
  return RegimeSpread{
      mean(biases),    shared / kIntervalDeviations,   trimmed_root_mean_square(own), layouts.scale,
      layouts.degrees, static_cast<int>(biases.size())};
}

std::vector<SetCoverage> left_out_coverage(const std::vector<SetErrors>& sets) {
  std::vector<SetCoverage> result;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets[i].errors.size() < 2) continue;
    std::vector<SetErrors> others;
    std::copy_if(sets.begin(), sets.end(), std::back_inserter(others), [&](const SetErrors& s) {
      return same_kind(s, sets[i]) && s.file != sets[i].file;
    });
    const std::optional<RegimeSpread> spread = regime_spread(others);
    if (spread) result.push_back(coverage_of(sets[i], i, *spread));
  }
  return result;
}

std::optional<OwnPrior> own_prior(const std::vector<double>& own_spreads) {
  std::vector<double> logarithms;
  for (const double own : own_spreads) {
    if (own > 0.0) logarithms.push_back(2.0 * std::log(own));
  }
  if (logarithms.size() < 2) return std::nullopt;
  const double deviation = standard_deviation(logarithms);
  if (!(deviation > 0.0)) return std::nullopt;
  const double half = inverse_trigamma(deviation * deviation);
  const double log_square =
      mean(logarithms) + boost::math::digamma(half) - std::log(half);  // ln(scale^2)
  return OwnPrior{std::exp(log_square / 2.0), 2.0 * half};
}

}  // namespace meshwright::planner
