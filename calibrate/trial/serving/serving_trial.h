// SPDX-License-Identifier: Apache-2.0
// A service executed on the ranks at hand: replicas of an engine with continuous batching under a
// load, and what its requests, steps and transfers were.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "sim/serving/estimate.h"
#include "sim/serving/load.h"
#include "sim/serving/serving_observation.h"

namespace meshwright::calibrate {

struct ServingTrialOptions {
  std::uint64_t seed = 1234;  // of weights and prompts; the same weights for every layout
  int warmup_requests = 4;    // of a replica, before the timed ones
  // Numbers of products, activations and messages; none: fp32 on cores, bf16 on GPUs.
  std::optional<Precision> precision{};
};

// Why the trial cannot serve this at all; empty when it can.
std::string serving_unsupported(const ServingScenario& scenario, const ServingLoad& load);

// Blocks of a replica's cache: those of the plan, at most as many as its requests can fill.
std::int64_t served_blocks(const ServingScenario& scenario, int replicas, const ServingLoad& load);

// Collective over `world`: every rank calls it. The scenario's options have the engine's defaults.
// Fewer ranks than the deployment needs run fewer of its replicas, each under its own share of the
// load.
ServingObservation run_serving_trial(const ServingScenario& scenario, int replicas,
                                     const ServingLoad& load, Compute& compute, Communicator& world,
                                     const ServingTrialOptions& options);

// A pool that computes prompts beside the replicas that decode.
struct ServedPools {
  ReplicaOptions prefill{};
  int prefill_replicas = 1, decode_replicas = 1;
};

// Why the trial cannot serve from two pools; empty when it can. The scenario's options are those of
// the decode pool.
std::string pools_unsupported(const ServingScenario& decode, const ReplicaOptions& prefill,
                              const ServingLoad& load);

// Collective over `world`, as run_serving_trial. Both pools run whole or not at all.
ServingObservation run_pools_trial(const ServingScenario& decode, const ServedPools& pools,
                                   const ServingLoad& load, Compute& compute, Communicator& world,
                                   const ServingTrialOptions& options);

}  // namespace meshwright::calibrate
