// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/disaggregated_state.h"

#include <algorithm>
#include <cmath>

namespace meshwright {
namespace {

constexpr int kRateHalvings = 40;

Seconds decode_time(const ServingReplica& replica, const MeanRequest& request, double running) {
  const EngineStep step = decode_step(running, mean_context(request));
  return step_duration(replica, step, step).duration;
}
// A decode pool holds the whole context from the start.
double decode_room(const ServingReplica& replica, const MeanRequest& request) {
  return running_limit(replica, request.input, request.output);
}

// B of one group whose room is full: B + m B / (n t(B)) = R. The left side grows with B.
double running_when_full(const ServingReplica& replica, const MeanRequest& request,
                         Seconds moving) {
  const double room = decode_room(replica, request), steps = decode_steps(replica, request);
  if (moving.value() <= 0.0) return room;
  double low = 0.0, high = room;
  for (int i = 0; i < kRateHalvings; ++i) {
    const double running = (low + high) / 2.0;
    const double rate = running / (steps * decode_time(replica, request, running).value());
    (running + rate * moving.value() > room ? high : low) = running;
  }
  return low;
}

// B of one group at this rate of it: B = X n t(B), raised from none.
double running_at(const ServingReplica& replica, const MeanRequest& request, double rate) {
  const double steps = decode_steps(replica, request);
  double running = 1e-6;
  for (int i = 0; i < 100; ++i) {
    const double next = rate * steps * decode_time(replica, request, running).value();
    if (std::abs(next - running) <= 1e-4 * running) return next;
    running = next;
  }
  return running;
}

DisaggregatedState state_at(const DisaggregatedPools& pools, const MeanRequest& request,
                            double rate) {
  DisaggregatedState found;
  found.prefill_rate = pools.prefill_replicas * prefill_rate(pools.prefill, request);
  found.decode_rate = pools.decode_replicas * decode_rate(pools.decode, request, pools.moving);
  const double groups = pools.decode_replicas * pools.decode.cost.data_ranks;
  const double steps = decode_steps(pools.decode, request);
  SteadyState& state = found.state;
  state.room = decode_room(pools.decode, request);
  state.running = running_at(pools.decode, request, rate / groups);
  state.decode_step = decode_time(pools.decode, request, state.running);
  const double tokens = std::max(1.0, request.output - 1.0);
  state.tpot = state.decode_step * (steps / tokens);
  const double busy = rate / found.prefill_rate;
  found.prefill_time = unloaded_prefill(pools.prefill, request);
  state.waiting = queue_wait(1.0, std::min(busy, 1.0 - 1e-9), found.prefill_time);
  const double carried = rate / groups * pools.moving.value();
  state.waiting += queue_wait(1.0, std::min(carried, 1.0 - 1e-9), pools.moving);
  state.ttft = pools.prefill.rule.host_time(request.input) + state.waiting + found.prefill_time +
               pools.transfer;
  state.requests_per_second = rate;
  state.e2e = state.ttft + state.decode_step * steps;
  found.prefill_idle = std::max(0.0, 1.0 - busy);
  found.decode_idle = std::max(0.0, 1.0 - rate / found.decode_rate);
  return found;
}

}  // namespace

double prefill_rate(const ServingReplica& replica, const MeanRequest& request) {
  const double together = std::max(1.0, std::floor(replica.rule.token_budget / request.computed));
  // Every attention group has as many.
  const Seconds step = prompt_time(replica, request, 0.0, {together, together});
  return together * replica.cost.data_ranks / step.value();
}

double decode_rate(const ServingReplica& replica, const MeanRequest& request, Seconds moving) {
  const double room = decode_room(replica, request), steps = decode_steps(replica, request);
  if (room < 1.0) return 0.0;
  const double links = moving.value() > 0.0 ? 1.0 / moving.value() : 1e300;
  if (steps <= 0.0) return links * replica.cost.data_ranks;
  const double running = running_when_full(replica, request, moving);
  const double full = running / (decode_time(replica, request, running).value() * steps);
  return std::min(full, links) * replica.cost.data_ranks;
}

std::optional<DisaggregatedState> disaggregated_open_loop(const DisaggregatedPools& pools,
                                                          const MeanRequest& request, double rate) {
  const double most =
      std::min(pools.prefill_replicas * prefill_rate(pools.prefill, request),
               pools.decode_replicas * decode_rate(pools.decode, request, pools.moving));
  if (rate >= most) return std::nullopt;
  return state_at(pools, request, rate);
}

std::optional<DisaggregatedState> disaggregated_closed_loop(const DisaggregatedPools& pools,
                                                            const MeanRequest& request,
                                                            double users) {
  double high = std::min(pools.prefill_replicas * prefill_rate(pools.prefill, request),
                         pools.decode_replicas * decode_rate(pools.decode, request, pools.moving));
  if (high <= 0.0) return std::nullopt;
  double low = 0.0;
  // X * E2E(X) grows with X and meets the users once.
  for (int i = 0; i < kRateHalvings; ++i) {
    const double rate = (low + high) / 2.0;
    const DisaggregatedState state = state_at(pools, request, rate);
    (rate * state.state.e2e.value() > users ? high : low) = rate;
  }
  DisaggregatedState found = state_at(pools, request, low);
  // At a full pool the rest of the users wait in front of it.
  const Seconds all = seconds(users / low);
  if (all > found.state.e2e) {
    found.state.waiting += all - found.state.e2e;
    found.state.ttft += all - found.state.e2e;
    found.state.e2e = all;
  }
  return found;
}

double matched_ratio(const ServingReplica& prefill, const ServingReplica& decode,
                     const MeanRequest& request, Seconds moving) {
  return prefill_rate(prefill, request) / decode_rate(decode, request, moving);
}

}  // namespace meshwright
