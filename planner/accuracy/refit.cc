// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/refit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/spread.h"
#include "sim/base/statistics.h"
#include "sim/fit/levenberg_marquardt.h"
#include "sim/step/evaluate.h"

namespace meshwright::planner {
namespace {

constexpr double kHuber = 2.0;  // further than this many of them, a run's pull grows no more
constexpr double kDerivativeStep = 0.02;
constexpr int kIterations = 40;
constexpr double kConvergence = 1e-6;

PlacedLayout placed(const MeasuredRun& run) { return {run, run.layout}; }

double log_step(const PlacedLayout& step, const Framework& framework) {
  Scenario scenario = step.scenario;
  scenario.cluster.framework = framework;
  CostTable table(std::move(scenario));
  return std::log(evaluate(table, step.layout, MemoryLimit::reported).step_time.value());
}

class Problem {
 public:
  Problem(const MeasuredSet& set, const std::vector<FrameworkScalar>& scalars) : scalars_(scalars) {
    for (const std::size_t i : usable_runs(set)) runs_.push_back(set.runs[i]);
    if (runs_.empty()) {
      throw InputError(set.name, "", "has no run with a step time and a valid layout to fit on",
                       "run meshwright backtest to see which rule each layout breaks");
    }
    base_ = runs_.front().cluster.framework;
    for (const FrameworkScalar scalar : scalars)
      start_.push_back(std::log(start_of(scalar, base_)));
  }

  [[nodiscard]] std::size_t num_runs() const { return runs_.size(); }
  [[nodiscard]] const Framework& base() const { return base_; }
  [[nodiscard]] const std::vector<double>& start() const { return start_; }

  [[nodiscard]] Framework framework(std::span<const double> x) const {
    return with_scalars(base_, x);
  }

  // log(predicted / measured) of every run, each under its own software with these scalars.
  [[nodiscard]] std::vector<double> residuals(std::span<const double> x) const {
    std::vector<double> r;
    for (const MeasuredRun& run : runs_) {
      const Framework f = with_scalars(run.cluster.framework, x);
      r.push_back(log_step(placed(run), f) - std::log(run.step_time->value()));
    }
    return r;
  }

  // Spread of the framework with which nine of ten runs lie inside their intervals, in addition to
  // the spreads of the terms. It is the 0.9 (n + 1) / n quantile over the runs of (residual /
  // 1.645)^2 - sum (spread_i t_i / t)^2, as in split conformal prediction.
  [[nodiscard]] double covering_spread(std::span<const double> x) const {
    std::vector<double> needed;
    for (MeasuredRun run : runs_) {
      run.cluster.framework = with_scalars(run.cluster.framework, x);
      CostTable table(run);
      const Evaluation found = evaluate(table, run.layout, MemoryLimit::reported);
      double of_terms = 0;
      for (const Term& term : found.terms) {
        const double share = term.cost.relative_spread * (term.cost.time / found.step_time);
        of_terms += share * share;
      }
      const double deviations = std::log(found.step_time / *run.step_time) / kIntervalDeviations;
      needed.push_back(deviations * deviations - of_terms);
    }
    return std::sqrt(std::clamp(conformal_quantile(std::move(needed), 0.9), 0.0, 1.0));
  }

 private:
  [[nodiscard]] Framework with_scalars(Framework f, std::span<const double> x) const {
    for (std::size_t i = 0; i < scalars_.size(); ++i) {
      f = with_value(std::move(f), scalars_[i], std::exp(x[i]));
    }
    return f;
  }

  std::vector<FrameworkScalar> scalars_;
  std::vector<MeasuredRun> runs_;
  Framework base_;
  std::vector<double> start_;
};

std::vector<double> prior_weights(const std::vector<FrameworkScalar>& scalars,
                                  const RefitPrior& prior) {
  std::vector<double> weights;
  for (const double deviation : prior_deviations(scalars, prior)) {
    weights.push_back(1.0 / (deviation * deviation));
  }
  return weights;
}

LeastSquaresSolution minimise(const Problem& problem, const std::vector<FrameworkScalar>& scalars,
                              const RefitPrior& prior) {
  LeastSquaresProblem scaled;
  scaled.start = problem.start();
  scaled.prior_weights = prior_weights(scalars, prior);
  scaled.huber_bound = kHuber;
  scaled.residuals = [&](std::span<const double> x) {
    std::vector<double> residuals = problem.residuals(x);
    for (double& r : residuals) r /= prior.residual_scale;
    return residuals;
  };
  return levenberg_marquardt(scaled, {kIterations, kDerivativeStep, kConvergence});
}

// The standard deviation of a normal, deaf to outliers.
double robust_spread(std::vector<double> residuals) {
  for (double& r : residuals) r = std::abs(r);
  return kDeviationOfMedianDistance * upper_median(std::move(residuals));
}

}  // namespace

std::vector<std::size_t> usable_runs(const MeasuredSet& set) {
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < set.runs.size(); ++i) {
    const MeasuredRun& run = set.runs[i];
    if (!run.step_time || run.status != RunStatus::ok) continue;
    if (!check_layout(run.model, run.job, run.layout, devices_of(run.cluster))) usable.push_back(i);
  }
  return usable;
}

std::vector<PlacedLayout> layouts_of(const MeasuredSet& set, const std::vector<std::size_t>& runs) {
  std::vector<PlacedLayout> layouts;
  for (const std::size_t i : runs) layouts.push_back(placed(set.runs[i]));
  return layouts;
}

LogSteps log_steps(const std::vector<PlacedLayout>& layouts,
                   const std::vector<FrameworkScalar>& scalars, const Framework& framework) {
  LogSteps result;
  for (const PlacedLayout& layout : layouts) {
    result.steps.push_back(log_step(layout, framework));
    std::vector<double>& row = result.derivatives.emplace_back();
    for (const FrameworkScalar scalar : scalars) {
      const double value = start_of(scalar, framework);
      const Framework up = with_value(framework, scalar, value * std::exp(kDerivativeStep));
      const Framework down = with_value(framework, scalar, value * std::exp(-kDerivativeStep));
      row.push_back((log_step(layout, up) - log_step(layout, down)) / (2.0 * kDerivativeStep));
    }
  }
  return result;
}

Refit refit(const MeasuredSet& set, const std::vector<FrameworkScalar>& scalars,
            const RefitPrior& prior) {
  const Problem problem(set, scalars);
  const LeastSquaresSolution solution = minimise(problem, scalars, prior);
  const std::vector<double> weights = prior_weights(scalars, prior);
  Refit result;
  result.framework = problem.framework(solution.parameters);
  result.runs = static_cast<int>(problem.num_runs());
  result.residual_spread = robust_spread(problem.residuals(solution.parameters));
  result.framework.relative_spread =
      std::max(result.residual_spread, problem.covering_spread(solution.parameters));
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    const double variance = solution.variances[i];
    result.scalars.push_back({scalars[i], value_of(scalars[i], problem.base()),
                              std::exp(solution.parameters[i]), std::sqrt(variance),
                              1.0 - variance * weights[i]});
  }
  return result;
}

MeasuredSet fitted_on_other_groups(MeasuredSet set, const std::vector<FrameworkScalar>& scalars,
                                   int folds, const RefitPrior& prior) {
  std::map<std::string, int> part_of_group;
  std::vector<int> part;
  for (const MeasuredRun& run : set.runs) {
    const int next = static_cast<int>(part_of_group.size()) % std::max(1, folds);
    part.push_back(part_of_group.emplace(run.group, next).first->second);
  }
  if (folds < 2 || static_cast<int>(part_of_group.size()) < folds) {
    throw InputError(
        set.name, "",
        fmt::format("cannot split {} groups into {} parts", part_of_group.size(), folds),
        "use at least 2 parts and at most one per group");
  }
  const MeasuredSet all = set;
  for (int fold = 0; fold < folds; ++fold) {
    MeasuredSet others{all.name, all.source, all.assumed, {}};
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != fold) others.runs.push_back(all.runs[i]);
    }
    const Refit found = refit(others, scalars, prior);
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != fold) continue;
      Framework& framework = set.runs[i].cluster.framework;
      for (const FittedScalar& fitted : found.scalars) {
        framework = with_value(std::move(framework), fitted.scalar, fitted.after);
      }
      framework.relative_spread = found.framework.relative_spread;
    }
  }
  return set;
}

}  // namespace meshwright::planner
