// SPDX-License-Identifier: Apache-2.0
// Time of a stage's gradient, parameter and other once-a-step communication, and what of it the
// step waits for.
#pragma once

#include "sim/step/stage.h"

namespace meshwright {

// Once-a-step communication of a stage (gradients, parameters, tied embedding, norms), and what
// ZeRO-3 adds to each micro-batch.
template <typename Amount>
struct DataCostOf {
  Amount reduce{};                             // gradients and everything after the last backward
  Amount gather{};                             // parameters before the first forward
  Amount forward_gather{}, backward_gather{};  // of a whole step: ZeRO-3
};
using DataCost = DataCostOf<Cost>;

DataCost data_cost(const StageVolume& volume, const Layout& layout, const Cluster& cluster);
DataCostOf<Seconds> bare(const DataCost& cost);

// What the communication of each kind can hide behind; nothing where it does not overlap.
struct DataOverlap {
  bool reduce = false, gather = false, forward_gather = false, backward_gather = false;
};
constexpr DataOverlap data_overlap(const Layout& layout) {
  const bool prefetch = layout.zero_stage == 3;
  return {layout.overlap_grad_reduce, layout.overlap_param_gather, prefetch,
          prefetch || layout.overlap_grad_reduce};
}

// What of a stage's data-parallel communication a step waits for. Gradients are reduced while the
// last micro-batch's backward runs; parameters are gathered while the first one's forward does.
// ZeRO-3 prefetches every layer's.
template <typename Amount>
Amount exposed_data(const DataCostOf<Amount>& cost, DataOverlap overlap, Seconds forward,
                    Seconds backward, double micro_batches, double overlap_slowdown) {
  const auto against = [overlap_slowdown](Amount communication, bool overlaps, Seconds compute) {
    if (overlaps) {
      set_time(communication, exposed_time(time_of(communication), compute, overlap_slowdown));
    }
    return communication;
  };
  Amount sum = against(cost.reduce, overlap.reduce, backward);
  sum = sum + against(cost.gather, overlap.gather, forward);
  sum = sum + against(cost.forward_gather, overlap.forward_gather, forward * micro_batches);
  return sum + against(cost.backward_gather, overlap.backward_gather, backward * micro_batches);
}

}  // namespace meshwright
