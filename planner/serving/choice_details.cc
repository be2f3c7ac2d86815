// SPDX-License-Identifier: Apache-2.0
// What is said of the best deployments: percentiles of a simulation, money and energy.
#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/capacity/training_run.h"
#include "planner/serving/deployment_choices.h"
#include "planner/serving/service_details.h"
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

// The choice with other replicas, simulated.
ServingChoice simulated_as(const ServingQuestion& q, const ServingChoice& choice,
                           const Deployment& deployment) {
  ServingChoice next = choice;
  next.deployment = deployment;
  next.largest_rate *=
      static_cast<double>(deployment.pool.replicas) / choice.deployment.pool.replicas;
  simulate_choice(q, next);
  return next;
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
    // Many times the requests in flight (Little's law): the first of them see an empty service.
    const auto state = service_state(service, load);
    const double times = load.kind == LoadKind::closed_loop ? 4.0 : 10.0;
    const double flying =
        state ? state->state.requests_per_second * state->state.e2e.value() : load.concurrency;
    load.num_requests = static_cast<int>(std::clamp(times * flying, 1e3, kMostSimulated));
  }
  return simulate_service(service, load);
}

// The verdict is the simulation's. A service is not planned close to the rate at which its queue
// grows without end: a simulation of some minutes does not show it.
void simulate_choice(const ServingQuestion& q, ServingChoice& choice) {
  choice.meets = false;
  choice.gpus = num_gpus(choice.deployment);
  const CompiledService service = compiled_service(q.scenario, choice.deployment, q.load);
  if (const auto state = service_state(service, q.load)) choice.state = *state;
  choice.tokens_per_second_per_gpu =
      choice.state.state.requests_per_second * mean_output(q.load.lengths) / choice.gpus;
  const auto run = simulated_run(service, q.load, q.percentile);
  if (!run) return;
  choice.simulated = steady_metrics(*run);
  if (q.percentile > 0) {
    choice.simulated_ttft = ttft_at(*run, q.percentile);
    choice.simulated_tpot = tpot_at(*run, q.percentile);
  }
  const Seconds tpot = choice.simulated->tpot.mean;
  choice.tokens_per_second_per_user = tpot.value() > 0 ? 1.0 / tpot.value() : 0.0;
  const bool ends = q.load.kind == LoadKind::closed_loop ||
                    q.load.request_rate <=
                        kMostUtilization * largest_service_rate(service, q.load) * (1.0 + 1e-9);
  choice.meets = ends && within(limited_times(choice), q.limits);
  if (q.load.kind == LoadKind::closed_loop) return;
  // A rate of the closed form that the simulation refutes is none.
  if (choice.meets) choice.largest_rate = std::max(choice.largest_rate, q.load.request_rate);
  const bool refuted = !choice.meets && q.percentile <= 0;
  if (refuted && choice.largest_rate >= q.load.request_rate) choice.largest_rate = 0;
}

void simulate_until_met(const ServingQuestion& q, ServingChoice& choice, int least) {
  const ServingChoice asked = choice;
  simulate_choice(q, choice);
  if (q.gpus) return;
  if (choice.meets) {
    // The closed form may have asked for more than the simulation needs.
    while (const auto fewer = one_replica_fewer(choice.deployment)) {
      if (fewer->pool.replicas < least) return;
      ServingChoice next = simulated_as(q, asked, *fewer);
      if (!next.meets) return;
      choice = std::move(next);
    }
    return;
  }
  const Deployment& from = asked.deployment;
  for (int more = 1; !choice.meets && more <= 8; ++more) {
    Deployment larger = from;
    const double factor = 1.0 + more / 8.0;
    larger.pool.replicas =
        std::max(from.pool.replicas + more, static_cast<int>(from.pool.replicas * factor));
    if (larger.prefill) {
      larger.prefill->replicas = std::max(
          from.prefill->replicas + 1, static_cast<int>(std::ceil(from.prefill->replicas * factor)));
    }
    if (num_gpus(larger) > q.max_gpus) return;
    ServingChoice next = simulated_as(q, asked, larger);
    if (next.meets) choice = std::move(next);
  }
}

void settle_first(const ServingQuestion& q, std::vector<ServingChoice>& choices) {
  const auto sort = [&] {
    std::stable_sort(choices.begin(), choices.end(),
                     [&](const auto& a, const auto& b) { return better_choice(q, a, b); });
  };
  sort();
  if (q.simulated <= 0) return;
  // A choice that was simulated stays so: at most one simulation of each.
  for (std::size_t tries = choices.size(); tries > 0; --tries) {
    if (choices.front().simulated) return;
    simulate_until_met(q, choices.front());
    sort();
  }
}

bool within(const ServiceTimes& times, const LatencyLimits& limits) {
  return (!limits.ttft || times.ttft <= *limits.ttft) &&
         (!limits.tpot || times.tpot <= *limits.tpot) && (!limits.e2e || times.e2e <= *limits.e2e);
}

ServiceTimes mean_times(const ServingChoice& choice) {
  if (choice.simulated) {
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
