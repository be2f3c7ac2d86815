// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/statistics.h"
#include "sim/serving/kv_transfer.h"
#include "sim/serving/scheduler.h"

namespace meshwright::planner {
namespace {

double absolute_error(double predicted, double measured) {
  return measured > 0.0 ? std::abs(predicted / measured - 1.0) : 0.0;
}

ServingReplica replica_as_run(const ServingScenario& scenario, const ReplicaOptions& options,
                              std::int64_t kv_blocks, const ServingLoad& load) {
  ServingReplica replica =
      serving_replica(scenario.model, scenario.cluster, scenario.engine, options, load.acceptance);
  replica.rule.overlapped = false;
  replica.rule.request = replica.rule.input_token = {};
  const SequenceCache& sequence = replica.memory.sequence;
  const double tokens = static_cast<double>(kv_blocks) * options.block_size;
  replica.memory.kv_cache = (sequence.full_token + sequence.window_token) * tokens;
  return replica;
}

// Replicas of both pools, and what moves between them.
struct ServiceAsRun {
  ServingReplica replica;
  std::optional<ServingReplica> prefill{};
  KvTransfer transfer{};  // of a prompt of the load's mean length
  [[nodiscard]] const ServingReplica& of(const ServingObservation& o,
                                         const ObservedServingStep& step) const {
    return o.of_prefill_pool(step) ? *prefill : replica;
  }
};

ServiceAsRun service_as_run(const ServingScenario& scenario, const ServingObservation& o,
                            const ServingLoad& load) {
  ServiceAsRun service{replica_as_run(scenario, o.options, o.kv_blocks, load)};
  if (!o.prefill) return service;
  service.prefill = replica_as_run(scenario, o.prefill->options, o.prefill->kv_blocks, load);
  service.transfer =
      pools_transfer(scenario.model, scenario.cluster, scenario.engine, o.prefill->options,
                     o.options, o.ranks, mean_input(load.lengths), o.replicas);
  return service;
}

Seconds moving_token(const ServiceAsRun& service, const ServingLoad& load) {
  return service.transfer.moving / mean_input(load.lengths);
}

std::optional<ServingRun> simulated(const ServiceAsRun& service, const ServingObservation& o,
                                    const ServingLoad& load) {
  if (!o.prefill) return simulate_serving(service.replica, o.replicas, load);
  const DisaggregatedService pools{*service.prefill,          service.replica,
                                   o.prefill->replicas,       o.replicas,
                                   service.transfer.handover, moving_token(service, load)};
  return simulate_disaggregated(pools, load);
}

// Times of steps, or of caches that changed pools.
struct ComparedTimes {
  std::vector<double> predicted{}, measured{}, errors{};

  void add(Seconds said, Seconds took) {
    predicted.push_back(said.value());
    measured.push_back(took.value());
    errors.push_back(absolute_error(said.value(), took.value()));
  }
  [[nodiscard]] ServingComparison::Steps medians() const {
    ServingComparison::Steps found;
    found.count = static_cast<int>(errors.size());
    if (errors.empty()) return found;
    found.absolute_error = upper_median(errors);
    found.predicted = seconds(upper_median(predicted));
    found.measured = seconds(upper_median(measured));
    return found;
  }
};

ComparedTimes compared_steps(const ServiceAsRun& service, const ServingObservation& o,
                             bool with_prompts) {
  ComparedTimes times;
  for (const ObservedServingStep& step : o.steps) {
    if ((step.step.prefill_tokens > 0.0) != with_prompts) continue;
    const ServingReplica& replica = service.of(o, step);
    times.add(steps_by_streams(replica) ? pass_time(replica, step.step, step.step)
                                        : step_duration(replica, step.step, step.step).duration,
              step.time);
  }
  return times;
}

ComparedTimes compared_handovers(const ServiceAsRun& service, const ServingObservation& o,
                                 const ServingLoad& load) {
  ComparedTimes times;
  const std::vector<ServingRequest> asked = requests_of(load);
  for (const ObservedHandover& one : o.handovers) {
    const double input = asked[static_cast<std::size_t>(one.request)].input;
    times.add(service.transfer.handover + moving_token(service, load) * input, one.end - one.begin);
  }
  return times;
}

// The requests of a run that have these places.
ServingRun requests_at(const ServingRun& run, const std::vector<int>& places) {
  ServingRun part = run;
  part.requests.clear();
  part.duration = {};
  for (const int place : places) {
    part.requests.push_back(run.requests[static_cast<std::size_t>(place)]);
    part.duration = std::max(part.duration, part.requests.back().end);
  }
  return part;
}

// Trials of another load may name requests that this one does not have.
bool names_requests_of(const ServingObservation& o, std::size_t num_requests) {
  const auto has = [num_requests](int place) {
    return place >= 0 && static_cast<std::size_t>(place) < num_requests;
  };
  return std::all_of(o.requests.begin(), o.requests.end(), has) &&
         std::all_of(o.handovers.begin(), o.handovers.end(),
                     [&](const ObservedHandover& one) { return has(one.request); });
}

double step_error(const ComparedTimes& decode, const ComparedTimes& mixed) {
  std::vector<double> errors = decode.errors;
  errors.insert(errors.end(), mixed.errors.begin(), mixed.errors.end());
  return errors.empty() ? 0.0 : upper_median(std::move(errors));
}
double decode_error(const ServingComparison::Steps& decode) {
  return absolute_error(decode.predicted.value(), decode.measured.value());
}
double tpot_error(const ServingMetrics& predicted, const ServingMetrics& measured) {
  return absolute_error(predicted.tpot.mean.value(), measured.tpot.mean.value());
}
double ttft_error(const ServingMetrics& predicted, const ServingMetrics& measured) {
  return absolute_error(predicted.ttft.p50.value(), measured.ttft.p50.value());
}

// None: a request does not fit into the predicted cache.
std::optional<ServiceAtHostSpeed> at_host_speed(ServiceAsRun service, const ServingComparison& one,
                                                const ServingLoad& load) {
  const ServingObservation& o = one.observation;
  service.replica.cost = on_host(service.replica.cost, *o.host_time_ratios);
  if (service.prefill) service.prefill->cost = on_host(service.prefill->cost, *o.host_time_ratios);
  const auto run = simulated(service, o, load);
  if (!run) return std::nullopt;
  const ServingMetrics predicted = metrics_of(requests_at(*run, o.requests));
  const ComparedTimes decode = compared_steps(service, o, false);
  const double slower = one.predicted.output_tokens_per_second / predicted.output_tokens_per_second;
  return ServiceAtHostSpeed{.step_error = step_error(decode, compared_steps(service, o, true)),
                            .decode_error = decode_error(decode.medians()),
                            .tpot_error = tpot_error(predicted, one.measured),
                            .ttft_error = ttft_error(predicted, one.measured),
                            .tokens_per_second = one.measured.output_tokens_per_second * slower};
}

// What the service predicted best gives less than the best that ran, per rank. With `host` what ran
// counts as if the host had been as fast as in its profile.
double regret_of(const std::vector<ServingComparison>& services, bool host) {
  double chosen = 0, said = -1, best = 0;
  for (const ServingComparison& one : services) {
    const double ranks = std::max(1, one.observation.ranks);
    const double throughput =
        (host ? one.at_host_speed->tokens_per_second : one.measured.output_tokens_per_second) /
        ranks;
    best = std::max(best, throughput);
    if (one.predicted.output_tokens_per_second / ranks <= said) continue;
    said = one.predicted.output_tokens_per_second / ranks;
    chosen = throughput;
  }
  return best > 0 ? 1.0 - chosen / best : 0.0;
}

template <typename Of>
double median_over(const std::vector<ServingComparison>& services, Of of) {
  std::vector<double> values;
  for (const ServingComparison& one : services) values.push_back(of(one));
  return upper_median(std::move(values));
}

void summarise(ServingValidation& found) {
  using C = ServingComparison;
  const std::vector<C>& all = found.services;
  found.median_step_error = median_over(all, [](const C& c) { return c.step_error; });
  found.median_tpot_error = median_over(all, [](const C& c) { return c.tpot_error; });
  found.median_ttft_error = median_over(all, [](const C& c) { return c.ttft_error; });
  found.median_decode_error = median_over(all, [](const C& c) { return decode_error(c.decode); });
  found.regret = regret_of(all, false);
  if (std::any_of(all.begin(), all.end(), [](const C& c) { return !c.at_host_speed; })) return;
  ServicesAtHostSpeed& host = found.at_host_speed.emplace();
  host.median_step_error = median_over(all, [](const C& c) { return c.at_host_speed->step_error; });
  host.median_tpot_error = median_over(all, [](const C& c) { return c.at_host_speed->tpot_error; });
  host.median_ttft_error = median_over(all, [](const C& c) { return c.at_host_speed->ttft_error; });
  host.median_decode_error =
      median_over(all, [](const C& c) { return c.at_host_speed->decode_error; });
  host.regret = regret_of(all, true);
}

}  // namespace

std::string name_of_run(const ServingObservation& o) {
  std::string name =
      fmt::format("{} x {}", o.run_replicas, meshwright::short_name(o.options.layout));
  if (!o.prefill) return name;
  return fmt::format("{} x {} + {}", o.prefill->replicas,
                     meshwright::short_name(o.prefill->options.layout), name);
}

ServingValidation validate_serving(const ServingScenario& scenario, const ServingLoad& load,
                                   const std::vector<ServingObservation>& observations) {
  ServingValidation found;
  for (const ServingObservation& o : observations) {
    const std::string name = o.prefill ? name_of_run(o) : meshwright::short_name(o.options.layout);
    if (!o.failure.empty()) {
      found.skipped.push_back(name + ": " + o.failure);
      continue;
    }
    const ServiceAsRun service = service_as_run(scenario, o, load);
    const auto run = simulated(service, o, load);
    if (!run) {
      found.skipped.push_back(name + ": a request does not fit into the predicted cache");
      continue;
    }
    if (!names_requests_of(o, run->requests.size())) {
      found.skipped.push_back(name + ": names requests that the plan's load does not have");
      continue;
    }
    ServingComparison one;
    one.name = name_of_run(o);
    one.observation = o;
    const ComparedTimes decode = compared_steps(service, o, false);
    const ComparedTimes mixed = compared_steps(service, o, true);
    one.decode = decode.medians();
    one.mixed = mixed.medians();
    one.handover = compared_handovers(service, o, load).medians();
    one.step_error = step_error(decode, mixed);
    one.predicted = metrics_of(requests_at(*run, o.requests));
    one.measured = metrics_of(o.run);
    one.tpot_error = tpot_error(one.predicted, one.measured);
    one.ttft_error = ttft_error(one.predicted, one.measured);
    if (o.host_time_ratios) one.at_host_speed = at_host_speed(service, one, load);
    one.throughput_error = absolute_error(one.predicted.output_tokens_per_second,
                                          one.measured.output_tokens_per_second);
    one.unlike_steps = static_cast<int>(
        std::count_if(o.steps.begin(), o.steps.end(),
                      [](const ObservedServingStep& step) { return !step.bytes_as_said; }));
    one.unlike_handovers =
        static_cast<int>(std::count_if(o.handovers.begin(), o.handovers.end(),
                                       [](const ObservedHandover& h) { return !h.bytes_as_said; }));
    found.services.push_back(std::move(one));
  }
  if (!found.services.empty()) summarise(found);
  return found;
}

}  // namespace meshwright::planner
