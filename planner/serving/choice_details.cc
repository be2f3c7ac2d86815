// SPDX-License-Identifier: Apache-2.0
// What is said of the best deployments: percentiles of a simulation, money and energy.
#include <algorithm>
#include <cmath>

#include "planner/capacity/training_run.h"
#include "planner/serving/deployment_choices.h"
#include "sim/base/quadrature.h"

namespace meshwright::planner {
namespace {

constexpr double kMostSimulated = 1e6;  // requests of a simulation of pools

// A replica of the deployment under its share of the load: round robin makes gaps of a Poisson
// stream more regular (gamma of shape n).
ServingLoad share_of_load(ServingLoad load, double percentile, int replicas) {
  load.request_rate /= replicas;
  load.concurrency = std::max(1.0, std::round(load.concurrency / replicas));
  load.burstiness *= replicas;
  if (load.num_requests == 0) load.num_requests = percentile > 99 ? 4000 : 1000;
  return load;
}

void simulate(const ServingQuestion& q, ServingChoice& choice) {
  const auto run =
      simulated_run(compiled_service(q.scenario, choice.deployment, q.load), q.load, q.percentile);
  if (!run) {
    choice.meets = choice.meets && q.percentile <= 0;
    return;
  }
  choice.simulated = metrics_of(*run);
  if (q.percentile <= 0) return;
  choice.simulated_ttft = ttft_at(*run, q.percentile);
  choice.simulated_tpot = tpot_at(*run, q.percentile);
  const Seconds tpot = choice.simulated->tpot.mean;
  choice.tokens_per_second_per_user = tpot.value() > 0 ? 1.0 / tpot.value() : 0.0;
  choice.meets = (!q.limits.ttft || *choice.simulated_ttft <= *q.limits.ttft) &&
                 (!q.limits.tpot || *choice.simulated_tpot <= *q.limits.tpot) &&
                 (!q.limits.e2e || choice.simulated->e2e.mean <= *q.limits.e2e);
}

// What a choice does while it is paid for.
ServedTokens served_by(const ServingQuestion& q, const ServingChoice& choice) {
  return {choice.gpus,
          choice.state.state.requests_per_second,
          mean_input(q.load.lengths),
          mean_output(q.load.lengths),
          prompt_share(choice.deployment, choice.state),
          in_quadrature(choice.token_spread,
                        rate_spread(q.scenario.engine.first_token, choice.deployment.mode()))};
}

// Share of the largest rate that is used.
double used_share(const ServingChoice& choice) {
  return choice.largest_rate > 0
             ? std::min(1.0, choice.state.state.requests_per_second / choice.largest_rate)
             : 1.0;
}

}  // namespace

std::optional<ServingRun> simulated_run(CompiledService service, ServingLoad load,
                                        double percentile) {
  if (!service.prefill) {
    load = share_of_load(load, percentile, service.replicas);
    service.replicas = 1;
  } else if (load.num_requests == 0) {
    load.num_requests = static_cast<int>(std::clamp(4.0 * load.concurrency, 1e3, kMostSimulated));
  }
  return simulate_service(service, load);
}

void simulate_until_met(const ServingQuestion& q, ServingChoice& choice) {
  simulate(q, choice);
  if (q.gpus || q.percentile <= 0) return;
  const int from = choice.deployment.pool.replicas;
  for (int more = 1; !choice.meets && more <= 8; ++more) {
    ServingChoice next = choice;
    const double factor = 1.0 + more / 8.0;
    next.deployment.pool.replicas = std::max(from + more, static_cast<int>(from * factor));
    if (next.deployment.prefill) {
      next.deployment.prefill->replicas =
          std::max(choice.deployment.prefill->replicas + 1,
                   static_cast<int>(std::ceil(choice.deployment.prefill->replicas * factor)));
    }
    next.gpus = num_gpus(next.deployment);
    if (next.gpus > q.max_gpus) return;
    simulate(q, next);
    if (!next.meets) continue;
    const CompiledService service = compiled_service(q.scenario, next.deployment, q.load);
    if (const auto state = service_state(service, q.load)) next.state = *state;
    next.tokens_per_second_per_gpu *= static_cast<double>(choice.gpus) / next.gpus;
    next.largest_rate *= static_cast<double>(next.deployment.pool.replicas) / from;
    choice = next;
  }
}

void settle_first(const ServingQuestion& q, std::vector<ServingChoice>& choices) {
  const auto sort = [&] {
    std::stable_sort(choices.begin(), choices.end(),
                     [&](const auto& a, const auto& b) { return better_choice(q, a, b); });
  };
  sort();
  if (q.percentile <= 0 || q.simulated <= 0) return;
  // A choice that was simulated stays so: at most one simulation of each.
  for (std::size_t tries = choices.size(); tries > 0; --tries) {
    if (choices.front().simulated) return;
    simulate_until_met(q, choices.front());
    sort();
  }
}

ServiceTimes mean_times(const ServingChoice& choice) {
  if (choice.simulated && choice.simulated_ttft) {
    const ServingMetrics& run = *choice.simulated;
    return {run.ttft.mean, run.tpot.mean, run.e2e.mean};
  }
  const SteadyState& state = choice.state.state;
  return {state.ttft, state.tpot, state.e2e};
}

ServiceTimes limited_times(const ServingChoice& choice) {
  const ServiceTimes means = mean_times(choice);
  return {choice.simulated_ttft.value_or(means.ttft), choice.simulated_tpot.value_or(means.tpot),
          means.e2e};
}

void price_choice(const ServingQuestion& q, ServingChoice& choice) {
  const Cluster& cluster = q.scenario.cluster;
  const ServedTokens served = served_by(q, choice);
  if (const auto hour = price_of(q.prices, q.cluster_name, cluster)) {
    choice.money = serving_money(served, *hour);
  }
  if (const auto kilowatts = kilowatts_per_gpu(q.power, cluster)) {
    choice.total_kwh_million_output =
        serving_energy(served, *kilowatts, q.power, used_share(choice));
  }
}

std::optional<ServingEnergy> energy_of(const ServingQuestion& q, const ServingChoice& choice) {
  const auto kilowatts = kilowatts_per_gpu(q.power, q.scenario.cluster);
  if (!kilowatts) return std::nullopt;
  return split_energy(served_by(q, choice), *kilowatts, q.power, used_share(choice));
}

}  // namespace meshwright::planner
