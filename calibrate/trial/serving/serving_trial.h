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

}  // namespace meshwright::calibrate
