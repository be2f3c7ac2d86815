// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_learning.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "planner/accuracy/learning.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/spread.h"
#include "sim/base/statistics.h"

namespace meshwright::planner {
namespace {

constexpr int kMostRounds = 6;       // of Newton's method
constexpr double kSmallMove = 1e-4;  // of the factor's logarithm: the fit is done
constexpr double kSlopeStep = 0.02;  // of the factor, for derivatives
constexpr double kLeastSlope = 0.1;  // below it a quantity is the load's, not the engine's
constexpr double kMostFactor = 5.0;  // beyond it, or its inverse, another service was measured

// Quantities by how directly they tell the time of a step.
constexpr std::array kTelling{ServingQuantity::tpot_mean, ServingQuantity::itl_mean,
                              ServingQuantity::e2e_mean, ServingQuantity::output_tps};

// Results of one configuration.
struct MeasuredConfiguration {
  const MeasuredService* first = nullptr;
  ServingQuantity quantity = ServingQuantity::tpot_mean;
  std::vector<double> logs{};  // of a time: throughput counts as its inverse
};

// The logarithm of a time, or of the inverse of a throughput.
double time_log(ServingQuantity quantity, double value) {
  return quantity == ServingQuantity::output_tps ? -std::log(value) : std::log(value);
}

// What a point tells of a step. The throughput of an open loop is its rate.
std::optional<ServingQuantity> telling_quantity(const MeasuredService& point) {
  for (const ServingQuantity q : kTelling) {
    const bool is_rate = q == ServingQuantity::output_tps && point.load.kind == LoadKind::open_loop;
    if (point.measured[place_of(q)] && !is_rate) return q;
  }
  return std::nullopt;
}

bool same_configuration(const MeasuredService& a, const MeasuredService& b) {
  ServingLoad load = a.load;
  load.num_requests = b.load.num_requests;  // a longer run of the same load
  load.seed = b.load.seed;
  return a.deployment == b.deployment && load == b.load &&
         a.scenario->model.name == b.scenario->model.name;
}

std::vector<MeasuredConfiguration> configurations_of(const MeasuredServices& set,
                                                     ServingLearning& learning) {
  std::vector<MeasuredConfiguration> found;
  for (const MeasuredService& point : set.points) {
    const auto quantity = telling_quantity(point);
    const auto leave_out = [&](std::string why) {
      learning.left_out.push_back({point.id, std::move(why), 0});
    };
    if (!quantity) {
      leave_out("tells no time of a step");
      continue;
    }
    if (const auto refusal = refused(*point.scenario, point.deployment, point.load)) {
      leave_out(fmt::format("the engine refuses it ({})", refusal->violation.rule->name));
      continue;
    }
    const double log = time_log(*quantity, *point.measured[place_of(*quantity)]);
    const auto known = std::find_if(found.begin(), found.end(), [&](const auto& one) {
      return one.quantity == *quantity && same_configuration(*one.first, point);
    });
    if (known == found.end()) {
      found.push_back({&point, *quantity, {log}});
    } else {
      known->logs.push_back(log);
    }
    ++learning.results;
  }
  return found;
}

// Deviation of a result around the mean of its configuration, over all that were repeated.
double pooled_repeats(const std::vector<MeasuredConfiguration>& configurations) {
  double sum = 0.0;
  std::size_t degrees = 0;
  for (const MeasuredConfiguration& one : configurations) {
    const double middle = mean(one.logs);
    for (const double log : one.logs) sum += (log - middle) * (log - middle);
    degrees += one.logs.size() - 1;
  }
  return degrees > 0 ? std::sqrt(sum / static_cast<double>(degrees)) : 0.0;
}

// A point as its benchmark ran it, with steps that take `factor` times as long.
PredictedService predicted_with(const MeasuredService& point, double factor) {
  MeasuredService slowed = point;
  ServingScenario scenario = *point.scenario;
  scenario.engine = with_step_factor(scenario.engine, factor);
  slowed.scenario = std::make_shared<const ServingScenario>(std::move(scenario));
  return predicted(slowed, true);
}

struct FactorPredictions {
  std::vector<double> logs{}, slopes{}, spreads{};
};
// NaN where the prediction has no such quantity: its load cannot be served.
FactorPredictions predictions_at(const std::vector<MeasuredConfiguration>& configurations,
                                 double log_factor) {
  const std::size_t count = configurations.size();
  FactorPredictions made{std::vector<double>(count), std::vector<double>(count),
                         std::vector<double>(count)};
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    const MeasuredConfiguration& one = configurations[i];
    const auto log_at = [&](const PredictedService& said) {
      const auto& value = said.values[place_of(one.quantity)];
      return value && *value > 0.0 ? time_log(one.quantity, *value) : std::nan("");
    };
    const PredictedService here = predicted_with(*one.first, std::exp(log_factor));
    const PredictedService above = predicted_with(*one.first, std::exp(log_factor + kSlopeStep));
    made.logs[i] = log_at(here);
    made.slopes[i] = (log_at(above) - log_at(here)) / kSlopeStep;
    made.spreads[i] = here.spread[place_of(one.quantity)];
  });
  return made;
}

// Those that tell something of the engine stay.
void keep_telling(std::vector<MeasuredConfiguration>& configurations, FactorPredictions& made,
                  ServingLearning& learning) {
  std::vector<MeasuredConfiguration> kept;
  FactorPredictions of_kept;
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    const bool served = std::isfinite(made.logs[i]) && std::isfinite(made.slopes[i]);
    if (!served || made.slopes[i] < kLeastSlope) {
      learning.left_out.push_back({configurations[i].first->id,
                                   served ? "its load sets what was measured, not the engine"
                                          : "its load is more than is predicted to be served",
                                   0});
      learning.results -= static_cast<int>(configurations[i].logs.size());
      continue;
    }
    kept.push_back(configurations[i]);
    of_kept.logs.push_back(made.logs[i]);
    of_kept.slopes.push_back(made.slopes[i]);
    of_kept.spreads.push_back(made.spreads[i]);
  }
  configurations = std::move(kept);
  made = std::move(of_kept);
}

std::vector<FactorResidual> residuals_of(const std::vector<MeasuredConfiguration>& configurations,
                                         const FactorPredictions& made) {
  std::vector<FactorResidual> residuals;
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    residuals.push_back({mean(configurations[i].logs) - made.logs[i], made.slopes[i]});
  }
  return residuals;
}

double precision_of(const std::vector<FactorResidual>& residuals, double level, double own) {
  double precision = 1.0 / (level * level);
  for (const FactorResidual& one : residuals) precision += one.slope * one.slope / (own * own);
  return precision;
}

}  // namespace

double posterior_factor(const std::vector<FactorResidual>& residuals, double level, double own) {
  double sum = 0.0;
  for (const FactorResidual& one : residuals) sum += one.slope * one.residual / (own * own);
  return sum / precision_of(residuals, level, own);
}

double posterior_variance(const std::vector<FactorResidual>& residuals, double level, double own) {
  return 1.0 / precision_of(residuals, level, own);
}

ServingLearning learn_service(const MeasuredServices& set) {
  ServingLearning learning;
  learning.left_out = set.unread;
  std::vector<MeasuredConfiguration> configurations = configurations_of(set, learning);
  FactorPredictions made = predictions_at(configurations, 0.0);
  keep_telling(configurations, made, learning);
  if (configurations.empty()) {
    const std::string why =
        learning.left_out.empty() ? "it has no rows" : learning.left_out.front().reason;
    throw InputError(set.name, "", fmt::format("tells nothing of this engine's steps: {}", why),
                     "give results with a mean time per output token");
  }
  const std::vector<double> first_logs = made.logs;
  learning.spread_before = root_mean_square(made.spreads);
  const double level = learning.spread_before * std::sqrt(kServingLevelShare);
  const double own_before = learning.spread_before * std::sqrt(1.0 - kServingLevelShare);

  // Newton: of residuals around the factor so far, each as if it were measured against factor 1.
  double log_factor = 0.0;
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<FactorResidual> residuals = residuals_of(configurations, made);
    for (FactorResidual& one : residuals) one.residual += one.slope * log_factor;
    const double next = posterior_factor(residuals, level, own_before);
    const double move = next - log_factor;
    log_factor = next;
    if (std::abs(log_factor) > std::log(kMostFactor)) {
      throw InputError(set.name, "",
                       fmt::format("steps take {} of the predicted time (expected {} to {})",
                                   number_text(std::exp(log_factor), 3),
                                   number_text(1.0 / kMostFactor), number_text(kMostFactor)),
                       "another service was measured: check the layout, the formats and the GPU");
    }
    made = predictions_at(configurations, log_factor);
    if (std::abs(move) < kSmallMove) break;
  }

  const std::vector<FactorResidual> left = residuals_of(configurations, made);
  const double variance_before = posterior_variance(left, level, own_before);
  std::vector<double> free_residuals;
  for (const FactorResidual& one : left) {
    const double leverage = one.slope * one.slope * variance_before / (own_before * own_before);
    free_residuals.push_back(one.residual / std::sqrt(1.0 - leverage));
  }
  // The scale of which an unseen engine's own spread is made.
  const double scale = own_before / unseen_own(1.0, kServingOwnDegrees);
  const double own = posterior_own(free_residuals, scale, kServingOwnDegrees);
  const double degrees = kServingOwnDegrees + static_cast<double>(left.size());
  const double student = student_quantile(0.95, degrees) / kIntervalDeviations;
  const double variance = posterior_variance(left, level, own);

  learning.repeat_spread = std::max(kServingRepeatSpread, pooled_repeats(configurations));
  learning.spread = std::max(learning.repeat_spread, student * std::sqrt(variance + own * own));
  learning.factor = std::exp(log_factor);
  const double reach = std::exp(kIntervalDeviations * student * std::sqrt(variance));
  learning.factor_low = learning.factor / reach;
  learning.factor_high = learning.factor * reach;
  learning.configurations = static_cast<int>(configurations.size());
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    const MeasuredConfiguration& one = configurations[i];
    const double sign = one.quantity == ServingQuantity::output_tps ? -1.0 : 1.0;
    learning.evidence.push_back({one.first->id, static_cast<int>(one.logs.size()), one.quantity,
                                 std::exp(sign * mean(one.logs)), std::exp(sign * first_logs[i]),
                                 std::exp(sign * made.logs[i])});
  }
  return learning;
}

Engine with_learnt(const Engine& engine, const ServingLearning& learning) {
  Engine learnt = with_step_factor(engine, learning.factor);
  learnt.learnt = {learning.factor, learning.spread / learning.spread_before,
                   learning.repeat_spread, learning.configurations};
  return learnt;
}

}  // namespace meshwright::planner
