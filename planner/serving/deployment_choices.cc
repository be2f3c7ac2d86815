// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/deployment_choices.h"

#include <algorithm>
#include <cmath>

#include "sim/base/quadrature.h"

namespace meshwright::planner {

int replicas_for(double rate, double each) {
  constexpr double kRounding = 1e-9;  // a rate that is a whole number of replicas
  return each > 0
             ? static_cast<int>(std::min(double{kMostReplicas}, std::ceil(rate / each - kRounding)))
             : 0;
}

namespace {

struct DeploymentFinder {
  const ServingQuestion& q;
  std::vector<ServingChoice> found{};

  [[nodiscard]] bool closed() const { return q.load.kind == LoadKind::closed_loop; }

  void fill(ServingChoice& choice, const CompiledService& service) const {
    choice.gpus = num_gpus(choice.deployment);
    const SteadyState& state = choice.state.state;
    const double output = mean_output(q.load.lengths);
    choice.tokens_per_second_per_gpu = state.requests_per_second * output / choice.gpus;
    choice.tokens_per_second_per_user = state.tpot.value() > 0 ? 1.0 / state.tpot.value() : 0.0;
    choice.token_spread = token_spread(service, state, mean_context(q.load.lengths));
    choice.first_token_spread = in_quadrature(
        choice.token_spread,
        first_token_spread(q.scenario.engine.first_token, choice.deployment.mode(), q.percentile));
    choice.meets = meshwright::meets(state, q.limits);
  }

  void add(const Deployment& deployment, const CompiledService& service, double capacity) {
    ServingChoice choice;
    choice.deployment = deployment;
    const auto state = service_state(service, q.load);
    if (!state) return;
    choice.state = *state;
    choice.largest_rate = capacity;
    fill(choice, service);
    found.push_back(std::move(choice));
  }

  // Replicas of one layout: as many as the load needs, or as the GPUs hold.
  void add_aggregated(const PoolCandidate& pool) {
    const int each = num_gpus(pool.options.layout);
    CompiledService service{pool.replica, nullptr, 1, 1, {}};
    const auto with = [&](int replicas) {
      service.replicas = replicas;
      return service;
    };
    int replicas = q.gpus ? *q.gpus / each : 0;
    if (!q.gpus && !closed()) replicas = replicas_for(q.load.request_rate, pool.rate);
    if (!q.gpus && closed()) replicas = fewest_for_users(pool, service);
    if (replicas < 1 || replicas * each > q.max_gpus) return;
    add({{pool.options, replicas}, {}}, with(replicas), pool.rate * replicas);
    if (!found.empty() && !closed())
      found.back().meets &= q.load.request_rate <= pool.rate * replicas * (1 + 1e-9);
  }

  // Fewer users for each replica are faster.
  [[nodiscard]] int fewest_for_users(const PoolCandidate& pool, CompiledService service) const {
    const int most = std::min(q.max_gpus / num_gpus(pool.options.layout),
                              static_cast<int>(std::ceil(q.load.concurrency)));
    const auto good = [&](int replicas) {
      service.replicas = replicas;
      const auto state = service_state(service, q.load);
      return state && meshwright::meets(state->state, q.limits);
    };
    if (most < 1 || !good(most)) return 0;
    int low = 0, high = most;
    while (high - low > 1) (good((low + high) / 2) ? high : low) = (low + high) / 2;
    return high;
  }

  // Pools whose rates match: as many replicas of each as the rate needs, or the split of the GPUs
  // that serves most.
  void add_disaggregated(const PoolCandidate& prefill, const PoolCandidate& decode) {
    if (prefill.prefill <= 0 || decode.decode <= 0) return;
    const int of_prefill = num_gpus(prefill.options.layout),
              of_decode = num_gpus(decode.options.layout);
    int p = 0, d = 0;
    if (!q.gpus) {
      const double rate = closed() ? std::min(prefill.prefill, decode.decode) : q.load.request_rate;
      p = replicas_for(rate, prefill.prefill);
      d = replicas_for(rate, decode.decode);
    } else {
      double best = 0;
      for (int one = 1; one * of_prefill < *q.gpus; ++one) {
        const int other = (*q.gpus - one * of_prefill) / of_decode;
        const double rate = std::min(one * prefill.prefill, other * decode.decode);
        if (rate > best) {
          best = rate;
          p = one;
          d = other;
        }
      }
    }
    if (p < 1 || d < 1 || p * of_prefill + d * of_decode > q.max_gpus) return;
    Deployment deployment{{decode.options, d}, ServingPool{prefill.options, p}};
    deployment.pool.options.role = PoolRole::decode;
    deployment.prefill->options.role = PoolRole::prefill;
    CompiledService service{decode.replica, prefill.replica, d, p, {}};
    service.transfer = transfer_between_pools(q.scenario, deployment, mean_input(q.load.lengths));
    add(deployment, service, std::min(p * prefill.prefill, d * decode.decode));
  }
};

// Rounded to the three digits that are shown.
double as_shown(Seconds time) {
  const double value = time.value();
  if (value <= 0.0 || !std::isfinite(value)) return value;
  const double digit = std::pow(10.0, std::floor(std::log10(value)) - 2.0);
  return std::round(value / digit) * digit;
}

// Below 0: the first time is the shorter one as they are shown; 0: they are shown alike. A search
// sorts many choices: times that are further apart than three digits tell need no rounding.
double shown_difference(Seconds a, Seconds b) {
  constexpr double kLargestDigit = 0.01;  // of a time: 1.00 and 1.01
  const double difference = a.value() - b.value();
  if (std::abs(difference) > kLargestDigit * std::max(a.value(), b.value())) return difference;
  const double shown_a = as_shown(a), shown_b = as_shown(b);
  return shown_a == shown_b ? 0.0 : shown_a < shown_b ? -1.0 : 1.0;
}

int replica_gpus(const Deployment& deployment) {
  return num_gpus(deployment.pool.options.layout) +
         (deployment.prefill ? num_gpus(deployment.prefill->options.layout) : 0);
}

}  // namespace

bool better_choice(const ServingQuestion& q, const ServingChoice& a, const ServingChoice& b) {
  if (a.meets != b.meets) return a.meets;
  if (!q.gpus && a.gpus != b.gpus) return a.gpus < b.gpus;
  const bool by_rate = q.gpus && q.load.kind != LoadKind::closed_loop;
  if (by_rate && std::abs(a.largest_rate - b.largest_rate) > 1e-6 * a.largest_rate) {
    return a.largest_rate > b.largest_rate;
  }
  const double x = a.state.state.requests_per_second, y = b.state.state.requests_per_second;
  if (std::abs(x - y) > 1e-6 * x) return x > y;
  // At equal rates the fewer GPUs have the cheaper tokens.
  if (a.gpus != b.gpus) return a.gpus < b.gpus;
  const ServiceTimes first = limited_times(a), second = limited_times(b);
  const double tpot = shown_difference(first.tpot, second.tpot);
  if (tpot != 0.0) return tpot < 0.0;
  const double ttft = shown_difference(first.ttft, second.ttft);
  if (ttft != 0.0) return ttft < 0.0;
  return replica_gpus(a.deployment) < replica_gpus(b.deployment);
}

namespace {

// One row a layout pair: the best of its batch limits and budgets.
std::vector<ServingChoice> best_of_each(const ServingQuestion& q, std::vector<ServingChoice> all) {
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return better_choice(q, a, b); });
  std::vector<ServingChoice> kept;
  for (ServingChoice& one : all) {
    const auto same = [&](const ServingChoice& other) {
      const bool pools = one.deployment.prefill.has_value() == other.deployment.prefill.has_value();
      if (!pools || one.deployment.pool.options.layout != other.deployment.pool.options.layout) {
        return false;
      }
      return !one.deployment.prefill ||
             one.deployment.prefill->options.layout == other.deployment.prefill->options.layout;
    };
    if (std::none_of(kept.begin(), kept.end(), same)) kept.push_back(std::move(one));
  }
  return kept;
}

}  // namespace

std::optional<ServingChoice> judged_deployment(const ServingQuestion& q,
                                               const Deployment& deployment) {
  DeploymentFinder finder{q};
  const CompiledService service = compiled_service(q.scenario, deployment, q.load);
  finder.add(deployment, service, largest_service_rate(service, q.load));
  if (finder.found.empty()) return std::nullopt;
  ServingChoice& choice = finder.found.front();
  simulate_choice(q, choice);
  return std::move(choice);
}

std::vector<ServingChoice> choices_of(const ServingQuestion& q,
                                      const std::vector<LayoutResult>& results) {
  DeploymentFinder finder{q};
  if (q.aggregated) {
    for (const LayoutResult& result : results) {
      for (const PoolCandidate& pool : result.candidates) finder.add_aggregated(pool);
    }
  }
  if (q.disaggregated) {
    for (const LayoutResult& p : results) {
      if (!may_be_pool(q.space, p)) continue;
      const PoolCandidate* prefill = best_variant(p, &PoolCandidate::prefill);
      for (const LayoutResult& d : results) {
        if (!may_be_pool(q.space, d)) continue;
        finder.add_disaggregated(*prefill, *best_variant(d, &PoolCandidate::decode));
      }
    }
  }
  return best_of_each(q, std::move(finder.found));
}

int gpus_at(const ServingQuestion& q, const ServingChoice& choice, double factor) {
  if (choice.deployment.prefill || q.load.kind == LoadKind::closed_loop || q.gpus) return 0;
  const CompiledService service = compiled_service(q.scenario, choice.deployment, q.load);
  PoolCandidate pool{choice.deployment.pool.options,
                     service.replica,
                     mean_request(q.load, service.replica->rule.block_size),
                     0,
                     0,
                     0};
  const auto replicas = [&](double times) {
    return replicas_for(q.load.request_rate,
                        aggregated_rate(pool, divided(q.limits, times)) / times);
  };
  const int asked = choice.deployment.pool.replicas;
  const int means = replicas(1.0);
  const double added = means > 0 ? static_cast<double>(asked) / means : 1.0;
  const double scaled = std::ceil(replicas(factor) * added - 1e-9);
  return static_cast<int>(std::min(double{kMostReplicas}, scaled)) * num_gpus(pool.options.layout);
}

}  // namespace meshwright::planner
