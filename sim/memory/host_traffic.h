// SPDX-License-Identifier: Apache-2.0
// Bytes that one rank of a stage copies to its host's memory and back in a step.
//
// Activations go there in forward and come back for backward, every micro-batch. An offloaded
// optimizer (Megatron-LM --optimizer-cpu-offload, HybridDeviceOptimizer; arXiv 2101.06840, ZeRO-
// Offload, section 4) takes the gradients of the rank's share, keeps master weights and moments,
// and sends weights back. Other bytes than those that the optimizer touches there (optimizer_cost).
#pragma once

#include "sim/memory/moving_memory.h"

namespace meshwright {

struct HostTraffic {
  Bytes activations;  // each way
  Bytes gradients;    // to the host
  Bytes weights;      // from it
  [[nodiscard]] Bytes to_host() const { return activations + gradients; }
  [[nodiscard]] Bytes to_device() const { return activations + weights; }
};

// For one micro-batch through all chunks of a stage, each way.
Bytes offloaded_activations(const UnitBytes& units, const ChunkGroups& chunks);

// For a step. `micro_batches`: the number that passes each chunk.
HostTraffic host_traffic(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, double micro_batches);

}  // namespace meshwright
