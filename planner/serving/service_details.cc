// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/service_details.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "planner/serving/deployment_choices.h"
#include "planner/serving/serving_backtest.h"

namespace meshwright::planner {

LatencyRange latency_range(Seconds value, double relative_spread) {
  const double factor = interval_factor(relative_spread);
  return {value, value / factor, value * factor};
}

std::vector<ServingLoad> loads_around(const ServingLoad& asked, double most) {
  const bool closed = asked.kind == LoadKind::closed_loop;
  std::vector<ServingLoad> loads{asked};
  for (std::size_t i = 0; i < kLoadShares.size(); ++i) {
    ServingLoad load = asked;
    if (closed) {
      load.concurrency = std::round(asked.concurrency * kUserShares[i]);
    } else {
      load.request_rate = most * kLoadShares[i];
    }
    const bool runs = load.request_rate > 0.0 && load.concurrency >= 1.0;
    if (runs && std::isfinite(load.request_rate)) loads.push_back(load);
  }
  const auto size = [closed](const ServingLoad& load) {
    return closed ? load.concurrency : load.request_rate;
  };
  std::stable_sort(loads.begin(), loads.end(),
                   [&](const auto& a, const auto& b) { return size(a) < size(b); });
  const auto same = [&](const auto& a, const auto& b) { return size(a) == size(b); };
  loads.erase(std::unique(loads.begin(), loads.end(), same), loads.end());
  return loads;
}

std::optional<double> knee_of(const std::vector<LoadLatency>& points) {
  if (points.empty()) return std::nullopt;
  const Seconds limit = points.front().latency * kKneeRatio;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const LoadLatency &below = points[i - 1], &above = points[i];
    if (above.latency < limit || above.latency <= below.latency) continue;
    const double way = (limit - below.latency) / (above.latency - below.latency);
    return below.load + std::max(0.0, way) * (above.load - below.load);
  }
  return std::nullopt;
}

std::optional<Deployment> one_replica_fewer(const Deployment& deployment) {
  std::optional<Deployment> most;
  const auto offer = [&](const Deployment& one) {
    if (!most || num_gpus(one) > num_gpus(*most)) most = one;
  };
  if (deployment.pool.replicas > 1) {
    Deployment fewer = deployment;
    --fewer.pool.replicas;
    offer(fewer);
  }
  if (deployment.prefill && deployment.prefill->replicas > 1) {
    Deployment fewer = deployment;
    --fewer.prefill->replicas;
    offer(fewer);
  }
  return most;
}

ServingStepParts step_parts(const ReplicaCost& cost, ServedStep kind, const EngineStep& step) {
  const StepTime time = step_time(cost, step);
  ServingStepParts found;
  found.step = kind;
  found.sequences = kind == ServedStep::prefill ? step.prefill_sequences : step.decode_sequences;
  found.tokens = kind == ServedStep::prefill ? step.prefill_tokens
                                             : step.decode_context / step.decode_sequences;
  found.time = latency_range(time.total, step_spread(cost, time));
  found.provenance = step_provenance(cost, time);
  for (const auto& [term, name] : kStepTermNames) {
    const auto i = static_cast<std::size_t>(term);
    if (time.terms[i].value() <= 0.0) continue;
    found.parts.push_back({term, time.terms[i], cost.spread[i], cost.provenance[i]});
  }
  return found;
}

namespace {

bool meets_limits(const ServingLoadPoint& point, const LatencyLimits& limits) {
  return within({point.ttft_at.value_or(point.ttft.mean), point.tpot_at.value_or(point.tpot.mean),
                 point.e2e.mean},
                limits);
}

// Empty: a request does not fit.
std::optional<ServingLoadPoint> load_point(const ServingQuestion& q, const CompiledService& service,
                                           const ServingLoad& load) {
  const auto run = simulated_run(service, load, q.percentile);
  if (!run) return std::nullopt;
  const bool closed = load.kind == LoadKind::closed_loop;
  const ServingMetrics metrics = steady_metrics(*run);
  // A replica that stands for all of them ran.
  const double runs = service.prefill ? 1.0 : service.replicas;
  ServingLoadPoint point;
  point.users = closed ? load.concurrency : 0.0;
  point.request_rate = closed ? metrics.requests_per_second * runs : load.request_rate;
  point.asked = load == q.load;
  point.ttft = metrics.ttft;
  point.tpot = metrics.tpot;
  point.e2e = metrics.e2e;
  if (q.percentile > 0) {
    point.ttft_at = ttft_at(*run, q.percentile);
    point.tpot_at = tpot_at(*run, q.percentile);
  }
  point.output_tokens_per_second = metrics.output_tokens_per_second * runs;
  point.busy_share = std::min(1.0, run->busy_share);
  point.meets = meets_limits(point, q.limits);
  return point;
}

// Each replica has one user at least.
bool has_users_for_all(const CompiledService& service, const ServingLoad& load) {
  return load.kind != LoadKind::closed_loop || service.prefill ||
         load.concurrency >= service.replicas;
}

std::vector<ServingLoadPoint> load_points(const ServingQuestion& q, const CompiledService& service,
                                          double most) {
  const std::vector<ServingLoad> loads = loads_around(q.load, most);
  std::vector<std::optional<ServingLoadPoint>> found(loads.size());
  tbb::parallel_for(std::size_t{0}, loads.size(), [&](std::size_t i) {
    if (has_users_for_all(service, loads[i])) found[i] = load_point(q, service, loads[i]);
  });
  std::vector<ServingLoadPoint> points;
  for (auto& one : found) {
    if (one) points.push_back(*one);
  }
  return points;
}

// A time of a point as the limits are: at the percentile, or its mean.
std::vector<LoadLatency> latencies(const std::vector<ServingLoadPoint>& points,
                                   std::optional<Seconds> ServingLoadPoint::*at,
                                   Percentiles ServingLoadPoint::*times) {
  std::vector<LoadLatency> found;
  for (const ServingLoadPoint& one : points) {
    found.push_back(
        {one.users > 0 ? one.users : one.request_rate, (one.*at).value_or((one.*times).mean)});
  }
  return found;
}

// Of the question's load; none was simulated: the load over the largest rate.
double busy_share(const ServingChoice& choice, const std::vector<ServingLoadPoint>& points,
                  double most) {
  for (const ServingLoadPoint& one : points) {
    if (one.asked) return std::min(1.0, one.busy_share);
  }
  return most > 0 ? std::min(1.0, choice.state.state.requests_per_second / most) : 1.0;
}

ServicePoolDetails pool_details(const ServingPool& pool, const ServingReplica& replica,
                                const MeanRequest& request, double running) {
  ServicePoolDetails found;
  found.name = short_name(Deployment{pool, {}});
  found.replicas = pool.replicas;
  found.gpus = num_gpus(pool);
  found.memory = replica.memory;
  found.admitted = running_limit(replica, request.input, request.output);
  found.running = running;
  return found;
}

ServingStepParts prompt_step(const ServingReplica& replica, const MeanRequest& request) {
  const double budget = replica.rule.chunks ? replica.rule.token_budget : request.computed;
  const double tokens = std::max(1.0, std::min(request.computed, budget));
  return step_parts(replica.cost, ServedStep::prefill,
                    prefill_step(1, tokens, request.input - request.computed));
}

ServingStepParts answer_step(const ServingReplica& replica, const MeanRequest& request,
                             double running) {
  // Each stage takes its share of the sequences.
  const double sequences = std::max(1.0, running) / replica.cost.stages;
  return step_parts(replica.cost, ServedStep::decode,
                    decode_step(sequences, mean_context(request)));
}

std::vector<ServicePoolDetails> pools_of(const ServingQuestion& q, const ServingChoice& choice,
                                         const CompiledService& service, double busy) {
  const MeanRequest request = mean_request(q.load, service.replica->rule.block_size);
  const ServiceState& state = choice.state;
  ServicePoolDetails pool =
      pool_details(choice.deployment.pool, *service.replica, request, state.state.running);
  if (!service.prefill) {
    pool.prompt_share = busy * std::min(1.0, state.state.prompt_share);
    pool.decode_share = busy - pool.prompt_share;
    pool.idle_share = 1.0 - busy;
    pool.steps = {prompt_step(*service.replica, request),
                  answer_step(*service.replica, request, state.state.running)};
    return {pool};
  }
  ServicePoolDetails prompts =
      pool_details(*choice.deployment.prefill, *service.prefill, request, 0.0);
  prompts.pool = ServicePool::prefill;
  prompts.prompt_share = 1.0 - state.prefill_idle;
  prompts.idle_share = state.prefill_idle;
  prompts.steps = {prompt_step(*service.prefill, request)};
  pool.pool = ServicePool::decode;
  pool.decode_share = 1.0 - state.decode_idle;
  pool.idle_share = state.decode_idle;
  pool.steps = {answer_step(*service.replica, request, state.state.running)};
  return {prompts, pool};
}

std::optional<SmallerDeployment> smaller_deployment(const ServingQuestion& q,
                                                    const Deployment& chosen) {
  const auto fewer = one_replica_fewer(chosen);
  if (!fewer) return std::nullopt;
  const CompiledService service = compiled_service(q.scenario, *fewer, q.load);
  SmallerDeployment found;
  found.deployment = short_name(*fewer);
  found.gpus = num_gpus(*fewer);
  found.largest_rate = largest_service_rate(service, q.load);
  const auto state = service_state(service, q.load);
  const double rate = q.load.kind == LoadKind::open_loop
                          ? q.load.request_rate
                          : (state ? state->state.requests_per_second : found.largest_rate);
  if (found.largest_rate > 0) found.utilization = rate / found.largest_rate;
  if (!state) return found;
  found.ttft = state->state.ttft;
  found.tpot = state->state.tpot;
  found.e2e = state->state.e2e;
  if (q.simulated <= 0) return found;
  if (const auto run = simulated_run(service, q.load, q.percentile)) {
    const ServingMetrics metrics = metrics_of(*run);
    found.ttft = q.percentile > 0 ? ttft_at(*run, q.percentile) : metrics.ttft.mean;
    found.tpot = q.percentile > 0 ? tpot_at(*run, q.percentile) : metrics.tpot.mean;
    found.e2e = metrics.e2e.mean;
  }
  return found;
}

}  // namespace

ServiceDetails service_details(const ServingQuestion& q, const ServingChoice& choice) {
  const CompiledService service = compiled_service(q.scenario, choice.deployment, q.load);
  const ServiceTimes times = limited_times(choice);
  ServiceDetails found;
  found.asked_gpus = q.gpus;
  found.ttft = latency_range(times.ttft, choice.first_token_spread);
  found.tpot = latency_range(times.tpot, choice.token_spread);
  found.largest_rate = largest_service_rate(service, q.load);
  found.most_utilization = kMostUtilization;
  found.loads = load_points(q, service, found.largest_rate);
  found.ttft_knee =
      knee_of(latencies(found.loads, &ServingLoadPoint::ttft_at, &ServingLoadPoint::ttft));
  found.tpot_knee =
      knee_of(latencies(found.loads, &ServingLoadPoint::tpot_at, &ServingLoadPoint::tpot));
  found.pools = pools_of(q, choice, service, busy_share(choice, found.loads, found.largest_rate));
  found.energy = energy_of(q, choice);
  found.smaller = smaller_deployment(q, choice.deployment);
  return found;
}

}  // namespace meshwright::planner
