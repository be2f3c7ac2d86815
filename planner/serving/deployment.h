// SPDX-License-Identifier: Apache-2.0
// A service as a planner compares it: replicas that do everything, or a prefill and a decode pool.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "sim/serving/disaggregated_state.h"
#include "sim/serving/estimate.h"
#include "sim/serving/kv_transfer.h"
#include "sim/serving/simulation.h"

namespace meshwright::planner {

enum class ServingMode { aggregated, disaggregated };
inline constexpr std::array kServingModeNames{
    EnumName{ServingMode::aggregated, "aggregated"},
    EnumName{ServingMode::disaggregated, "disaggregated"}};
constexpr std::string_view name_of(ServingMode v) { return name_in(kServingModeNames, v); }

// Replicas of one kind. Options have the engine's defaults.
struct ServingPool {
  ReplicaOptions options{};
  int replicas = 1;
  bool operator==(const ServingPool&) const = default;
};
struct Deployment {
  ServingPool pool{};                    // aggregated, or the decode pool
  std::optional<ServingPool> prefill{};  // disaggregated
  [[nodiscard]] ServingMode mode() const {
    return prefill ? ServingMode::disaggregated : ServingMode::aggregated;
  }
  bool operator==(const Deployment&) const = default;
};
int num_gpus(const ServingPool& pool);
int num_gpus(const Deployment& deployment);
// Attention groups of the decode pool, or of all replicas.
double decode_groups(const Deployment& deployment);
// "4 x tp2", "2 x tp4 + 1 x tp8" (prefill first).
std::string short_name(const Deployment& deployment);

// Of a prompt of so many tokens, between the pools of a deployment that has two.
KvTransfer transfer_between_pools(const ServingScenario& scenario, const Deployment& deployment,
                                  double tokens);

// A deployment with its costs, made once. Replicas may be shared between deployments.
struct CompiledService {
  std::shared_ptr<const ServingReplica> replica{};
  std::shared_ptr<const ServingReplica> prefill{};
  int replicas = 1, prefill_replicas = 1;
  KvTransfer transfer{};  // of a prompt of the load's mean length
};
CompiledService compiled_service(const ServingScenario& scenario, const Deployment& deployment,
                                 const ServingLoad& load);

// Means of a service under its load.
struct ServiceState {
  SteadyState state{};                       // all replicas: requests_per_second; ttft, tpot, e2e
  double prefill_idle = 0, decode_idle = 0;  // disaggregated: shares of the pools' time
  double prefill_rate = 0, decode_rate = 0;  // disaggregated: what each pool serves at most
  Seconds transfer{};
};
// Closed and open loop. Empty: a request does not fit, or the queue grows without end.
std::optional<ServiceState> service_state(const CompiledService& service, const ServingLoad& load);
// Requests a second that it serves at most.
double largest_service_rate(const CompiledService& service, const ServingLoad& load);
// Empty: a request does not fit.
std::optional<ServingRun> simulate_service(const CompiledService& service, const ServingLoad& load,
                                           bool is_traced = false);

// The first rule of the engine that a pool breaks, its memory's among them.
struct RefusedPool {
  ServingViolation violation{};
  bool of_prefill = false;
};
// With a load the cache must hold its longest request, and max_model_len counts where the scenario
// states it. Without one it is what the engine checks before it starts.
std::optional<RefusedPool> refused(const ServingScenario& scenario, const Deployment& deployment,
                                   const std::optional<ServingLoad>& load = {});
const ReplicaOptions& options_of(const RefusedPool& refusal, const Deployment& deployment);
// The rule's sentence on that pool.
std::string sentence_of(const RefusedPool& refusal, const ServingScenario& scenario,
                        const Deployment& deployment);

// Relative standard deviation of the mean time of a token.
double token_spread(const CompiledService& service, const SteadyState& state, double context);
// Of the first token beyond that of its steps, at a percentile; 0: of the mean.
double first_token_spread(const FirstTokenSpread& spread, ServingMode mode, double percentile);
// Of E2E and throughput beyond that of steps.
double rate_spread(const FirstTokenSpread& spread, ServingMode mode);

}  // namespace meshwright::planner
