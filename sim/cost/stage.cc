// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/stage.h"

#include <algorithm>

#include "sim/cost/activation_memory.h"
#include "sim/cost/transfer.h"

namespace meshwright {

void add_chunk(StageCost& stage, const ChunkCost& chunk) {
  stage.forward = stage.forward + chunk.forward;
  stage.backward = stage.backward + chunk.backward_input + chunk.backward_weight;
  stage.recompute = stage.recompute + chunk.recompute;
  stage.tensor =
      stage.tensor + chunk.forward_communication.tensor + chunk.backward_communication.tensor;
  stage.context =
      stage.context + chunk.forward_communication.context + chunk.backward_communication.context;
  stage.expert =
      stage.expert + chunk.forward_communication.expert + chunk.backward_communication.expert;
  stage.host += chunk.host;
  stage.forward_time += chunk.forward_time();
  stage.backward_time += chunk.backward_time();
}

Cost offload_cost(const Model& model, const Job& job, const Layout& layout, const StageCost& stage,
                  const Device& device) {
  if (layout.cpu_offloading_num_layers == 0) return {};
  const Bytes moved = layer_activation_bytes(model, layer_kind(model, 0), job, layout, false) *
                      (2.0 * layout.cpu_offloading_num_layers);
  const Seconds compute = stage.forward_time + stage.backward_time;
  const Seconds time = moved / device.host_link;
  return {std::max(seconds(0), time - compute), 0.3, Provenance::datasheet};
}

Cost send_cost(const StageVolume& volume, const Layout& layout, const Cluster& cluster) {
  Cost cost;
  for (const Transfer& transfer : volume.transfers) {
    if (transfer.group != Group::pipeline || transfer.phase != Phase::forward) continue;
    Transfer one = transfer;
    one.times_per_step = 1;
    cost = transfer_cost(one, layout, cluster);
    if (layout.overlap_p2p_comm) cost.time *= cluster.device.overlap_slowdown;
    break;
  }
  return cost;
}

}  // namespace meshwright
