// SPDX-License-Identifier: Apache-2.0
#include "sim/step/data_parallel.h"

#include "sim/volume/transfer.h"

namespace meshwright {

DataCost data_cost(const StageVolume& volume, const Layout& layout, const Cluster& cluster) {
  DataCost cost;
  for (const Transfer& transfer : volume.transfers) {
    const bool data = transfer.group == Group::data || transfer.group == Group::expert_data;
    if (!data && transfer.phase != Phase::step) continue;
    const Cost call = transfer_cost(transfer, layout, cluster);
    if (transfer.phase == Phase::forward) {
      cost.forward_gather = cost.forward_gather + call;
    } else if (transfer.phase == Phase::backward || transfer.phase == Phase::recompute) {
      cost.backward_gather = cost.backward_gather + call;
    } else if (data && transfer.collective == Collective::all_gather) {
      cost.gather = cost.gather + call;
    } else {
      cost.reduce = cost.reduce + call;
    }
  }
  return cost;
}

Cost exposed_cost(const DataCost& cost, const ExposedData& exposed) {
  return with_time(cost.reduce, exposed.reduce) + with_time(cost.gather, exposed.gather) +
         with_time(cost.forward_gather, exposed.forward_gather) +
         with_time(cost.backward_gather, exposed.backward_gather);
}

}  // namespace meshwright
