// SPDX-License-Identifier: Apache-2.0
#include "sim/step/chunk.h"

#include "sim/kernel_time/host.h"

namespace meshwright {

ChunkCost chunk_cost(const UnitCost& sum, const Cluster& cluster) {
  ChunkCost cost;
  cost.forward = sum.forward;
  cost.backward_input = sum.backward_input;
  cost.backward_weight = sum.backward_weight;
  cost.recompute = sum.recompute;
  cost.forward_communication = sum.forward_communication;
  cost.backward_communication = sum.backward_communication;
  cost.forward_wires = sum.forward_wires;
  cost.backward_wires = sum.backward_wires;
  cost.hidden_exchange = sum.hidden_exchange;
  const Seconds launch = cluster.host_launch();
  // The host runs ahead of the device but for what it submits after a wait, when nothing is queued.
  const auto host = [&](double launches, double waited, Seconds device) {
    const bool ahead = cluster.framework.kernels.host_runs_ahead;
    const double early = launches - waited;
    return (ahead ? host_time(launch * early, device) : launch * early) + launch * waited;
  };
  cost.forward_host = host(sum.forward_launches, sum.forward_waited, cost.forward_time());
  cost.backward_host = host(sum.backward_launches, sum.backward_waited, cost.backward_time());
  return cost;
}

}  // namespace meshwright
