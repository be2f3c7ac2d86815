// SPDX-License-Identifier: Apache-2.0
// Latency and throughput of replicas under a steady load, in closed form: the means that a search
// needs, a few step times each. Percentiles come from the simulation (simulation.h).
//
// B sequences decode in each attention group, and each of them ends after n = (O - 1) / (tokens a
// step) steps, so that r = B / n prompts begin in a step:
//
//   t      = t_decode(B) + r * (time that one prompt adds)      mean step
//   TPOT   = t * n / (O - 1)
//   TTFT   = host + wait for a step + own step(s) + wait for room
//   E2E    = TTFT + (O - 1) TPOT
//   closed loop: X = C / E2E (Little); open loop: X = rate, B = X n t
//
// Fixed point in B. If prompts of r are more than a step's budget holds, B falls until they are
// not.
#pragma once

#include <optional>

#include "sim/serving/load.h"
#include "sim/serving/scheduler.h"

namespace meshwright {

// Means of the load's lengths, for the closed form.
struct MeanRequest {
  double input = 1024;     // tokens of a prompt
  double computed = 1024;  // of them without a prefix hit
  double output = 1024;
};
MeanRequest mean_request(const ServingLoad& load, int block_size);
// As mean_context of lengths.
double mean_context(const MeanRequest& request);
// Steps of one request's answer behind its first token.
double decode_steps(const ServingReplica& replica, const MeanRequest& request);

// Of one replica, all attention groups together.
struct SteadyState {
  Seconds ttft{}, tpot{}, e2e{};
  Seconds decode_step{};  // without prompts
  double requests_per_second = 0;
  double running = 0;  // sequences that decode, of one attention group
  double room = 0;     // requests of one group that the cache and the engine admit
  double prompts_per_step = 0;
  double prompt_share = 0;  // of the step's time, what prompts add
  Seconds waiting{};        // for room, in ttft
  [[nodiscard]] double output_tokens_per_second(double output) const {
    return requests_per_second * output;
  }
};

// `users` of this replica, each with one request at a time. Empty: not one request fits.
std::optional<SteadyState> closed_loop_state(const ServingReplica& replica,
                                             const MeanRequest& request, double users);
// Requests a second that the replica serves at most: as many users as there is room for.
double largest_rate(const ServingReplica& replica, const MeanRequest& request);
// Requests that arrive by themselves, at the rate at which `running` sequences of each group
// decode: X = B / (n t(B)). `most`: largest_rate.
SteadyState open_loop_at(const ServingReplica& replica, const MeanRequest& request, double running,
                         double most);
// `rate` requests a second on this replica. Empty: not one request fits, or rate is above
// largest_rate, and the queue grows without end.
std::optional<SteadyState> open_loop_state(const ServingReplica& replica,
                                           const MeanRequest& request, double rate);
// The largest rate, with its state, at which the means of both times stay within their limits
// (none: no limit) and at most `utilization` of largest_rate. Empty: none does.
struct LatencyLimits {
  std::optional<Seconds> ttft{}, tpot{}, e2e{};
};
bool meets(const SteadyState& state, const LatencyLimits& limits);
std::optional<SteadyState> largest_rate_within(const ServingReplica& replica,
                                               const MeanRequest& request,
                                               const LatencyLimits& limits, double utilization);

// Prompts that share a step: on the fullest attention group, and on each group in the mean.
// `often`: share of the steps that have prompts.
struct PromptsTogether {
  double fullest = 1.0, mean = 1.0, often = 1.0;
};
// Time that prompts add to a step in which `running` sequences decode: the mixed steps less as many
// decode steps, or whole steps of their own (prefill first).
Seconds prompt_time(const ServingReplica& replica, const MeanRequest& request, double running,
                    const PromptsTogether& prompts);
// All passes of one prompt on an idle replica.
Seconds unloaded_prefill(const ServingReplica& replica, const MeanRequest& request);

// Mean wait of a queue with c servers, utilization rho and service time S, gaps and service of
// squared variation 1 and 0: (1 / 2) rho^(sqrt(2 (c + 1)) - 1) / (1 - rho) S / c (Sakasegawa 1977;
// c = 1: M/D/1).
Seconds queue_wait(double servers, double utilization, Seconds service);

}  // namespace meshwright
