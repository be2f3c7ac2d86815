// SPDX-License-Identifier: Apache-2.0
// What one pipeline stage costs for one micro-batch: its chunks' sums, its messages to the next
// stage, and what of activation offload sticks out.
#pragma once

#include "sim/cost/chunk.h"

namespace meshwright {

// All that one stage does for one micro-batch.
struct StageCost {
  Cost forward, backward, recompute, tensor, context, expert;
  Seconds host;
  Seconds forward_time, backward_time;
};

void add_chunk(StageCost& stage, const ChunkCost& chunk);

// Activations of cpu_offloading_num_layers layers go to the host and come back, beside the compute.
Cost offload_cost(const Model& model, const Job& job, const Layout& layout, const StageCost& stage,
                  const Device& device);

// One message between neighbouring stages; hidden when the layout overlaps it.
Cost send_cost(const StageVolume& volume, const Layout& layout, const Cluster& cluster);

}  // namespace meshwright
