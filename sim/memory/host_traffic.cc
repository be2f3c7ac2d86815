// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/host_traffic.h"

#include "sim/memory/model_state.h"
#include "sim/memory/stage_parameters.h"
#include "sim/memory/unit_bytes.h"

namespace meshwright {

Bytes offloaded_activations(const UnitBytes& units, const ChunkGroups& chunks) {
  Bytes sum;
  for (std::size_t g = 0; g < chunks.groups.size(); ++g) {
    for (const LayerRun& run : chunks.groups[g].layers) {
      sum += offloaded_bytes(run.layer, units) * run.count * chunks.sizes[g];
    }
  }
  return sum;
}

HostTraffic host_traffic(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, double micro_batches) {
  HostTraffic traffic;
  if (offloads_activations(layout)) {
    traffic.activations = micro_batches * offloaded_activations(unit_bytes(model, job, layout),
                                                                chunk_groups(model, layout, stage));
  }
  if (!layout.optimizer_offload) return traffic;
  const StageParameters parameters = stage_parameters(model, job, layout, stage);
  const bool sharded = layout.zero_stage > 0;
  const double share = parameters.dense / (sharded ? zero_shard_group_size(layout) : 1) +
                       parameters.expert / (sharded ? expert_shard_group_size(layout) : 1);
  traffic.gradients = bytes(share * gradient_bytes(job, layout));
  traffic.weights = bytes(share * weight_bytes(job.precision));
  return traffic;
}

}  // namespace meshwright
