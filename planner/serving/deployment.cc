// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/deployment.h"

#include <fmt/format.h>

namespace meshwright::planner {
namespace {

constexpr double kTailPercentile = 90;

DisaggregatedPools pools_of(const CompiledService& service) {
  return {*service.prefill, *service.replica,      service.prefill_replicas,
          service.replicas, service.transfer.time, service.transfer.moving};
}

std::optional<ServiceState> of_pools(const std::optional<DisaggregatedState>& found,
                                     const CompiledService& service) {
  if (!found) return std::nullopt;
  return ServiceState{found->state,        found->prefill_idle, found->decode_idle,
                      found->prefill_rate, found->decode_rate,  service.transfer.time};
}

}  // namespace

int num_gpus(const ServingPool& pool) {
  return pool.replicas * meshwright::num_gpus(pool.options.layout);
}
int num_gpus(const Deployment& deployment) {
  return num_gpus(deployment.pool) + (deployment.prefill ? num_gpus(*deployment.prefill) : 0);
}

double decode_groups(const Deployment& deployment) {
  return deployment.pool.replicas * deployment.pool.options.layout.data_parallel_size;
}

std::string short_name(const Deployment& deployment) {
  const auto pool = [](const ServingPool& one) {
    return fmt::format("{} x {}", one.replicas, meshwright::short_name(one.options.layout));
  };
  const std::string main = pool(deployment.pool);
  return deployment.prefill ? pool(*deployment.prefill) + " + " + main : main;
}

KvTransfer transfer_between_pools(const ServingScenario& s, const Deployment& deployment,
                                  double tokens) {
  return pools_transfer(s.model, s.cluster, s.engine, deployment.prefill->options,
                        deployment.pool.options, num_gpus(deployment), tokens,
                        decode_groups(deployment));
}

CompiledService compiled_service(const ServingScenario& s, const Deployment& deployment,
                                 const ServingLoad& load) {
  const auto compile = [&](const ReplicaOptions& options) {
    return std::make_shared<const ServingReplica>(
        serving_replica(s.model, s.cluster, s.engine, options, load.acceptance));
  };
  CompiledService service;
  service.replica = compile(deployment.pool.options);
  service.replicas = deployment.pool.replicas;
  if (deployment.prefill) {
    service.prefill = compile(deployment.prefill->options);
    service.prefill_replicas = deployment.prefill->replicas;
    service.transfer = transfer_between_pools(s, deployment, mean_input(load.lengths));
  }
  return service;
}

std::optional<ServiceState> service_state(const CompiledService& service, const ServingLoad& load) {
  const MeanRequest request = mean_request(load, service.replica->rule.block_size);
  const bool closed = load.kind == LoadKind::closed_loop;
  if (service.prefill) {
    const DisaggregatedPools pools = pools_of(service);
    return of_pools(closed ? disaggregated_closed_loop(pools, request, load.concurrency)
                           : disaggregated_open_loop(pools, request, load.request_rate),
                    service);
  }
  const double replicas = service.replicas;
  auto found = closed ? closed_loop_state(*service.replica, request, load.concurrency / replicas)
                      : open_loop_state(*service.replica, request, load.request_rate / replicas);
  if (!found) return std::nullopt;
  found->requests_per_second *= replicas;
  return ServiceState{*found, 0, 0, 0, 0, {}};
}

double largest_service_rate(const CompiledService& service, const ServingLoad& load) {
  const MeanRequest request = mean_request(load, service.replica->rule.block_size);
  if (!service.prefill) return service.replicas * largest_rate(*service.replica, request);
  return std::min(
      service.prefill_replicas * prefill_rate(*service.prefill, request),
      service.replicas * decode_rate(*service.replica, request, service.transfer.moving));
}

std::optional<ServingRun> simulate_service(const CompiledService& service, const ServingLoad& load,
                                           bool is_traced) {
  if (!service.prefill) {
    return simulate_serving(*service.replica, service.replicas, load, is_traced);
  }
  const double input = mean_input(load.lengths);
  const Seconds base = service.transfer.handover;
  const Seconds token = service.transfer.moving / input;
  const DisaggregatedService pools{
      *service.prefill, *service.replica, service.prefill_replicas, service.replicas, base, token};
  return simulate_disaggregated(pools, load);
}

std::optional<RefusedPool> refused(const ServingScenario& s, const Deployment& deployment,
                                   const std::optional<ServingLoad>& load) {
  const double longest = load ? longest_request(load->lengths) : 0.0;
  const bool length_is_given = !load || s.options.max_model_len > 0;
  const auto broken = [&](const ReplicaOptions& options) -> std::optional<ServingViolation> {
    const ServingRuleInput in{s.model, s.cluster, s.engine, options,
                              deployment.prefill.has_value()};
    if (const auto found = check_replica(in)) return found;
    const ReplicaMemory memory = replica_memory(s.model, only_device(s.cluster), s.engine, options);
    return check_replica_memory(in, memory, longest, length_is_given);
  };
  if (const auto found = broken(deployment.pool.options)) return RefusedPool{*found, false};
  if (!deployment.prefill) return std::nullopt;
  if (const auto found = broken(deployment.prefill->options)) return RefusedPool{*found, true};
  return std::nullopt;
}

const ReplicaOptions& options_of(const RefusedPool& refusal, const Deployment& deployment) {
  return refusal.of_prefill ? deployment.prefill->options : deployment.pool.options;
}

std::string sentence_of(const RefusedPool& refusal, const ServingScenario& s,
                        const Deployment& deployment) {
  const ServingRuleInput in{s.model, s.cluster, s.engine, options_of(refusal, deployment)};
  return refusal.violation.rule->sentence(in, refusal.violation.missed);
}

double first_token_spread(const FirstTokenSpread& spread, ServingMode mode, double percentile) {
  const bool tail = percentile >= kTailPercentile;
  if (mode == ServingMode::disaggregated) {
    return tail ? spread.disaggregated_tail : spread.disaggregated;
  }
  return tail ? spread.tail : spread.usual;
}

double rate_spread(const FirstTokenSpread& spread, ServingMode mode) {
  return mode == ServingMode::disaggregated ? spread.disaggregated_rate : 0.0;
}

double token_spread(const CompiledService& service, const SteadyState& state, double context) {
  const ReplicaCost& cost = service.replica->cost;
  const StepTime time = step_time(cost, decode_step(std::max(1.0, state.running), context));
  return step_spread(cost, time);
}

}  // namespace meshwright::planner
