// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/learning.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "planner/accuracy/regime_fit.h"
#include "planner/search/normal.h"
#include "sim/base/quadrature.h"
#include "sim/base/shipped_spreads.h"
#include "sim/base/spread.h"
#include "sim/base/statistics.h"
#include "sim/step/step_interval.h"

namespace meshwright::planner {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd vector_of(const std::vector<double>& values) {
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size()));
}

MatrixXd prior_covariance(const std::vector<double>& deviations) {
  return vector_of(deviations).array().square().matrix().asDiagonal();
}

// S after one more run: S - S g g' S / (g' S g + own^2).
MatrixXd updated(const MatrixXd& covariance, const VectorXd& g, double own) {
  const VectorXd sg = covariance * g;
  return covariance - sg * sg.transpose() / (g.dot(sg) + own * own);
}

RefitPrior prior_of(const Model& model, const Cluster& cluster) {
  const bool experts = model.moe.has_value();
  const shipped::OwnPrior& own = shipped::kOwnPriors[experts ? 1 : 0];
  return learning_prior(shipped_spread(interval_regime(cluster), experts),
                        unseen_own(own.scale, own.degrees));
}

// Prior of a fit, from a set's first run.
RefitPrior prior_of(const MeasuredSet& set) {
  return prior_of(set.runs.front().model, set.runs.front().cluster);
}

// The most telling of layouts that are alternatives within their groups, under a framework.
std::vector<std::size_t> most_telling_of(const std::vector<PlacedLayout>& layouts,
                                         const std::vector<int>& groups,
                                         const std::vector<FrameworkScalar>& scalars,
                                         const Framework& framework, const RefitPrior& prior,
                                         int count) {
  const LogSteps steps = log_steps(layouts, scalars, framework);
  std::vector<CandidateStep> candidates;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    candidates.push_back({std::exp(steps.steps[i]), steps.derivatives[i], groups[i]});
  }
  return most_telling(candidates, prior_deviations(scalars, prior), prior.residual_scale, count);
}

// Weight of each candidate, 1 for the fastest of its group.
std::vector<double> weights_of(const std::vector<CandidateStep>& candidates,
                               const MatrixXd& covariance, double own) {
  std::map<int, double> fastest;
  for (const CandidateStep& c : candidates) {
    const auto found = fastest.emplace(c.group, c.seconds).first;
    found->second = std::min(found->second, c.seconds);
  }
  std::vector<double> weights;
  for (const CandidateStep& c : candidates) {
    const VectorXd g = vector_of(c.derivatives);
    const double deviation = std::sqrt(g.dot(covariance * g) + own * own);
    const double gap = std::log(c.seconds / fastest[c.group]);
    weights.push_back(2.0 * normal_cdf(-gap / (std::sqrt(2.0) * deviation)));
  }
  return weights;
}

}  // namespace

RefitPrior learning_prior(const RegimeSpread& regime, double own) {
  return {in_quadrature(regime.bias, regime.shared), own};
}

double unseen_own(double scale, double degrees) {
  return student_quantile(0.95, degrees) * scale / kIntervalDeviations;
}

double posterior_own(const std::vector<double>& residuals, double scale, double degrees) {
  double sum = degrees * scale * scale;
  for (const double r : residuals) sum += r * r;
  return std::sqrt(sum / (degrees + static_cast<double>(residuals.size())));
}

std::vector<double> leverages_of(const std::vector<std::vector<double>>& derivatives,
                                 const std::vector<double>& prior_deviations, double own) {
  MatrixXd covariance = prior_covariance(prior_deviations);
  for (const std::vector<double>& row : derivatives) {
    covariance = updated(covariance, vector_of(row), own);
  }
  std::vector<double> leverages;
  for (const std::vector<double>& row : derivatives) {
    const VectorXd g = vector_of(row);
    leverages.push_back(g.dot(covariance * g) / (own * own));
  }
  return leverages;
}

Learning learn(const MeasuredSet& runs, const std::vector<FrameworkScalar>& scalars,
               const MeasuredSet& candidates) {
  const RefitPrior prior = prior_of(runs);
  Learning result;
  result.refit = refit(runs, scalars, prior);
  const std::vector<std::size_t> usable = usable_runs(runs);
  const LogSteps at_runs = log_steps(layouts_of(runs, usable), scalars, result.refit.framework);
  const std::vector<double> leverages =
      leverages_of(at_runs.derivatives, prior_deviations(scalars, prior), prior.residual_scale);
  std::vector<double> residuals;
  for (const std::size_t i : usable) {
    const std::size_t row = residuals.size();
    const double residual = at_runs.steps[row] - std::log(runs.runs[i].step_time->value());
    residuals.push_back(residual / std::sqrt(1.0 - leverages[row]));
  }
  const shipped::OwnPrior& before = shipped::kOwnPriors[runs.runs.front().model.moe ? 1 : 0];
  result.own = posterior_own(residuals, before.scale, before.degrees);
  result.degrees = before.degrees + static_cast<double>(residuals.size());
  MatrixXd covariance = prior_covariance(prior_deviations(scalars, prior));
  for (const std::vector<double>& row : at_runs.derivatives) {
    covariance = updated(covariance, vector_of(row), result.own);
  }
  const LogSteps at_candidates =
      log_steps(layouts_of(candidates, usable_runs(candidates)), scalars, result.refit.framework);
  double variance = result.own * result.own;
  for (const std::vector<double>& row : at_candidates.derivatives) {
    const VectorXd g = vector_of(row);
    variance += g.dot(covariance * g) / static_cast<double>(at_candidates.derivatives.size());
  }
  result.relative_spread =
      student_quantile(0.95, result.degrees) * std::sqrt(variance) / kIntervalDeviations;
  return result;
}

Cluster with_learnt(Cluster cluster, const Learning& learning) {
  if (!cluster.fit_holds()) cluster.fit = {};
  cluster.framework = learning.refit.framework;
  if (cluster.framework.name.empty()) cluster.framework.name = "fitted";
  cluster.framework_assumed = false;
  cluster.fit.framework = cluster.framework.name;
  cluster.fit.relative_spread = learning.relative_spread;
  cluster.fit.learnt_runs = learning.refit.runs;
  return cluster;
}

std::vector<std::size_t> most_telling(const std::vector<CandidateStep>& candidates,
                                      const std::vector<double>& prior_deviations, double own,
                                      int count) {
  MatrixXd covariance = prior_covariance(prior_deviations);
  const std::vector<double> weights = weights_of(candidates, covariance, own);
  std::vector<double> steps;
  for (const CandidateStep& c : candidates) steps.push_back(c.seconds);
  const double typical = steps.empty() ? 1.0 : median(steps);
  std::vector<std::size_t> picked;
  std::vector<bool> taken(candidates.size(), false);
  while (picked.size() < std::min(candidates.size(), static_cast<std::size_t>(count))) {
    std::size_t best = 0;
    double most = -1.0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (taken[i]) continue;
      const VectorXd sg = covariance * vector_of(candidates[i].derivatives);
      const double variance = vector_of(candidates[i].derivatives).dot(sg) + own * own;
      double gone = weights[i] * variance;
      for (std::size_t j = 0; j < candidates.size(); ++j) {
        if (j == i || taken[j]) continue;
        const double shared = vector_of(candidates[j].derivatives).dot(sg);
        gone += weights[j] * shared * shared / variance;
      }
      gone /= 1.0 + candidates[i].seconds / typical;
      if (gone > most) {
        most = gone;
        best = i;
      }
    }
    taken[best] = true;
    picked.push_back(best);
    covariance = updated(covariance, vector_of(candidates[best].derivatives), own);
  }
  return picked;
}

std::vector<std::size_t> runs_to_make(const MeasuredSet& set,
                                      const std::vector<FrameworkScalar>& scalars, int count) {
  if (set.runs.empty()) return {};
  const std::vector<std::size_t> usable = usable_runs(set);
  std::map<std::string, int> numbers;
  std::vector<int> groups;
  for (const std::size_t i : usable) {
    const int next = static_cast<int>(numbers.size());
    groups.push_back(numbers.emplace(set.runs[i].group, next).first->second);
  }
  std::vector<std::size_t> picked;
  for (const std::size_t row :
       most_telling_of(layouts_of(set, usable), groups, scalars, set.runs.front().cluster.framework,
                       prior_of(set), count)) {
    picked.push_back(usable[row]);
  }
  return picked;
}

std::vector<std::size_t> runs_to_make(const Plan& plan, int count) {
  if (plan.ranked.empty() || count == 0) return {};
  std::vector<PlacedLayout> layouts;
  for (const Estimate& estimate : plan.ranked) {
    layouts.push_back({plan, estimate.layout});
  }
  const std::vector<int> one_group(layouts.size(), 0);
  return most_telling_of(layouts, one_group, all_framework_scalars(), plan.cluster.framework,
                         prior_of(plan.model, plan.cluster), count);
}

}  // namespace meshwright::planner
