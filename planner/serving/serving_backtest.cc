// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_backtest.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/quadrature.h"
#include "sim/base/spread.h"
#include "sim/base/statistics.h"

namespace meshwright::planner {
namespace {

void set_spreads(PredictedService& found, const MeasuredService& point,
                 const CompiledService& service, double running) {
  const ReplicaCost& cost = service.replica->cost;
  const double context = mean_context(point.load.lengths);
  const StepTime time = step_time(cost, decode_step(std::max(1.0, running), context));
  const double step = step_spread(cost, time);
  const FirstTokenSpread& engine = point.scenario->engine.first_token;
  const ServingMode mode = point.deployment.mode();
  for (const ServingQuantity q :
       {ServingQuantity::tpot_mean, ServingQuantity::tpot_p99, ServingQuantity::itl_mean}) {
    found.spread[place_of(q)] = step;
  }
  for (const ServingQuantity q : {ServingQuantity::e2e_mean, ServingQuantity::output_tps}) {
    found.spread[place_of(q)] = in_quadrature(step, rate_spread(engine, mode));
  }
  for (const ServingQuantity q :
       {ServingQuantity::ttft_mean, ServingQuantity::ttft_p50, ServingQuantity::ttft_p99}) {
    const double percentile = q == ServingQuantity::ttft_p99 ? 99 : 0;
    found.spread[place_of(q)] = in_quadrature(step, first_token_spread(engine, mode, percentile));
  }
}

void set_simulated(PredictedService& found, const CompiledService& service,
                   const ServingLoad& load) {
  const auto run = simulate_service(service, load);
  if (!run) return;
  const ServingMetrics m = metrics_of(*run);
  const auto set = [&](ServingQuantity q, double value) { found.values[place_of(q)] = value; };
  set(ServingQuantity::tpot_mean, m.tpot.mean.value());
  set(ServingQuantity::tpot_p99, m.tpot.p99.value());
  set(ServingQuantity::itl_mean, m.itl.mean.value());
  set(ServingQuantity::ttft_mean, m.ttft.mean.value());
  set(ServingQuantity::ttft_p50, m.ttft.p50.value());
  set(ServingQuantity::ttft_p99, m.ttft.p99.value());
  set(ServingQuantity::e2e_mean, m.e2e.mean.value());
  set(ServingQuantity::output_tps, m.output_tokens_per_second);
}

void set_steady(PredictedService& found, const CompiledService& service, const ServingLoad& load) {
  const auto state = service_state(service, load);
  if (!state) return;
  const auto set = [&](ServingQuantity q, double value) { found.values[place_of(q)] = value; };
  set(ServingQuantity::tpot_mean, state->state.tpot.value());
  set(ServingQuantity::ttft_mean, state->state.ttft.value());
  set(ServingQuantity::e2e_mean, state->state.e2e.value());
  set(ServingQuantity::output_tps, state->state.requests_per_second * mean_output(load.lengths));
}

struct ServingErrors {
  std::vector<double> signed_errors{}, sizes{};
  double inside = 0;
};

ServingScore serving_score_of(const std::string& group, ServingQuantity quantity,
                              const ServingErrors& errors) {
  ServingScore score{group, quantity, static_cast<int>(errors.sizes.size()), 0, 0, 0, 0, 0};
  score.mean = mean(errors.sizes);
  score.median = interpolated_quantile(errors.sizes, 0.5);
  score.p90 = interpolated_quantile(errors.sizes, 0.9);
  score.bias = interpolated_quantile(errors.signed_errors, 0.5);
  score.covered = errors.inside / static_cast<double>(errors.sizes.size());
  return score;
}

}  // namespace

double interval_factor(double spread) { return std::exp(kIntervalDeviations * spread); }

PredictedService predicted(const MeasuredService& point, bool simulates) {
  PredictedService found;
  if (const auto refusal = refused(*point.scenario, point.deployment, point.load)) {
    found.refused = refusal->violation;
    return found;
  }
  const CompiledService service = compiled_service(*point.scenario, point.deployment, point.load);
  found.values[place_of(ServingQuantity::kv_tokens)] = service.replica->memory.kv_tokens;
  found.spread[place_of(ServingQuantity::kv_tokens)] = kServingCacheSpread;
  const MeanRequest request = mean_request(point.load, service.replica->rule.block_size);
  found.largest_batch = running_limit(*service.replica, request.input, request.output);
  const double groups = static_cast<double>(service.replicas) * service.replica->cost.data_ranks;
  const double users = point.load.kind == LoadKind::closed_loop ? point.load.concurrency / groups
                                                                : found.largest_batch;
  set_spreads(found, point, service, std::min(users, found.largest_batch));
  const bool steady =
      point.load.kind == LoadKind::closed_loop || point.load.kind == LoadKind::open_loop;
  if (simulates || !steady) {
    set_simulated(found, service, point.load);
  } else {
    set_steady(found, service, point.load);
  }
  return found;
}

std::vector<PredictedService> predicted(const MeasuredServices& set, bool simulates) {
  std::vector<PredictedService> all(set.points.size());
  tbb::parallel_for(std::size_t{0}, set.points.size(),
                    [&](std::size_t i) { all[i] = predicted(set.points[i], simulates); });
  return all;
}

std::vector<ServingScore> serving_scores(const MeasuredServices& set,
                                         const std::vector<PredictedService>& predictions,
                                         bool by_group) {
  std::map<std::pair<std::string, std::size_t>, ServingErrors> found;
  for (std::size_t i = 0; i < set.points.size(); ++i) {
    for (std::size_t q = 0; q < kNumServingQuantities; ++q) {
      const auto& measured = set.points[i].measured[q];
      const auto& said = predictions[i].values[q];
      if (!measured || !said || *measured <= 0.0) continue;
      const double error = *said / *measured - 1.0;
      const double factor = interval_factor(predictions[i].spread[q]);
      const bool inside = *measured <= *said * factor && *measured >= *said / factor;
      const auto add = [&](const std::string& group) {
        ServingErrors& errors = found[{group, q}];
        errors.signed_errors.push_back(error);
        errors.sizes.push_back(std::abs(error));
        errors.inside += inside ? 1.0 : 0.0;
      };
      add("all");
      if (by_group) add(set.points[i].group);
    }
  }
  std::vector<ServingScore> scores;
  for (const auto& [key, errors] : found) {
    scores.push_back(serving_score_of(key.first, kServingQuantityNames[key.second].value, errors));
  }
  std::stable_sort(scores.begin(), scores.end(), [](const auto& a, const auto& b) {
    return (a.group == "all") > (b.group == "all");
  });
  return scores;
}

std::vector<LayoutChoice> layout_choices(const MeasuredServices& set,
                                         const std::vector<PredictedService>& predictions) {
  struct RunLayout {
    double measured = 0, predicted = 0;
    std::string name;
  };
  std::map<std::string, std::vector<RunLayout>> found;
  for (std::size_t i = 0; i < set.points.size(); ++i) {
    const MeasuredService& point = set.points[i];
    const auto& measured = point.measured[place_of(ServingQuantity::output_tps)];
    const auto& said = predictions[i].values[place_of(ServingQuantity::output_tps)];
    if (!measured || !said || point.load.kind != LoadKind::closed_loop) continue;
    const double gpus = num_gpus(point.deployment);
    // The same users on the same number of GPUs: what a planner chooses between.
    const std::string key = fmt::format("{} {} {}/{} {} users {} GPUs", point.group,
                                        point.engine_version, point.load.lengths.input,
                                        point.load.lengths.output, point.load.concurrency, gpus);
    found[key].push_back({*measured, *said, short_name(point.deployment)});
  }
  std::vector<LayoutChoice> choices;
  for (auto& [key, candidates] : found) {
    // Repeats of one layout count once, at their mean.
    std::map<std::string, std::pair<RunLayout, int>> layouts;
    for (const RunLayout& one : candidates) {
      auto& [sum, count] = layouts[one.name];
      sum.name = one.name;
      sum.measured += one.measured;
      sum.predicted += one.predicted;
      ++count;
    }
    if (layouts.size() < 2) continue;
    const RunLayout *best = nullptr, *chosen = nullptr;
    for (auto& [name, entry] : layouts) {
      entry.first.measured /= entry.second;
      entry.first.predicted /= entry.second;
      if (best == nullptr || entry.first.measured > best->measured) best = &entry.first;
      if (chosen == nullptr || entry.first.predicted > chosen->predicted) chosen = &entry.first;
    }
    choices.push_back({key, static_cast<int>(layouts.size()), best->name, chosen->name,
                       best->measured / chosen->measured - 1.0});
  }
  return choices;
}

}  // namespace meshwright::planner
