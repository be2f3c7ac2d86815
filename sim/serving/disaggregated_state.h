// SPDX-License-Identifier: Apache-2.0
// Prefill and decode in pools of their own under a steady load, in closed form (DistServe,
// arXiv 2401.09670, section 3).
//
//   prefill  mu_p = prompts of a full step / its time; utilization rho_p = X / (N_p mu_p)
//   decode   B = X n t(B) / N_d; a prompt that is being moved takes its room, too:
//            B + X m / N_d <= R, and the links carry X <= N_d / m (m: time that one is moved)
//            mu_d = the largest such rate
//   TTFT     host + wait(rho_p) + prefill + wait for the links + transfer
//   TPOT     t(B) n / (O - 1), without prompts
//   rate     min(N_p mu_p, N_d mu_d); the other pool idles the rest
#pragma once

#include <optional>

#include "sim/serving/steady_state.h"

namespace meshwright {

struct DisaggregatedPools {
  const ServingReplica& prefill;
  const ServingReplica& decode;
  int prefill_replicas = 1, decode_replicas = 1;
  Seconds transfer{};  // of one prompt
  Seconds moving{};    // of it, the links of a decode group are taken
};

struct DisaggregatedState {
  SteadyState state{};                       // of all replicas together; running: of a decode group
  double prefill_rate = 0, decode_rate = 0;  // requests a second at most, of each pool
  double prefill_idle = 0, decode_idle = 0;  // shares of the pools' time
  Seconds prefill_time{};                    // of one prompt, waiting aside
};

// Requests a second of one prefill replica that is never idle.
double prefill_rate(const ServingReplica& replica, const MeanRequest& request);
// Requests a second of one decode replica whose room is full, or whose links are.
double decode_rate(const ServingReplica& replica, const MeanRequest& request, Seconds moving = {});

// Empty: a request does not fit, or `rate` is above what a pool serves.
std::optional<DisaggregatedState> disaggregated_closed_loop(const DisaggregatedPools& pools,
                                                            const MeanRequest& request,
                                                            double users);
std::optional<DisaggregatedState> disaggregated_open_loop(const DisaggregatedPools& pools,
                                                          const MeanRequest& request, double rate);

// Decode replicas for each prefill replica that leave neither idle: N_d / N_p = mu_p / mu_d.
double matched_ratio(const ServingReplica& prefill, const ServingReplica& decode,
                     const MeanRequest& request, Seconds moving = {});

}  // namespace meshwright
