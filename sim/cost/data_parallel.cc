// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/data_parallel.h"

#include "sim/cost/transfer.h"

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

Cost exposed_data(const DataCost& cost, const StageCost& stage, const Layout& layout,
                  double micro_batches, double overlap_slowdown) {
  const auto against = [overlap_slowdown](Cost communication, bool overlap, Seconds compute) {
    if (overlap) communication.time = exposed_time(communication.time, compute, overlap_slowdown);
    return communication;
  };
  // Gradients are reduced while the last micro-batch's backward runs; parameters are gathered while
  // the first one's forward does. ZeRO-3 prefetches every layer's.
  const bool prefetch = layout.zero_stage == 3;
  Cost sum = against(cost.reduce, layout.overlap_grad_reduce, stage.backward_time);
  sum = sum + against(cost.gather, layout.overlap_param_gather, stage.forward_time);
  sum = sum + against(cost.forward_gather, prefetch, stage.forward_time * micro_batches);
  return sum + against(cost.backward_gather, prefetch || layout.overlap_grad_reduce,
                       stage.backward_time * micro_batches);
}

}  // namespace meshwright
