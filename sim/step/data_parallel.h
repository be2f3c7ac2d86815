// SPDX-License-Identifier: Apache-2.0
// Time of a stage's gradient, parameter and other once-a-step communication, and what of it the
// step waits for.
#pragma once

#include "sim/step/stage.h"

namespace meshwright {

// Once-a-step communication of a stage (gradients, parameters, tied embedding, norms), and what
// ZeRO-3 adds to each micro-batch.
struct DataCost {
  Cost reduce;                           // gradients and everything after the last backward
  Cost gather;                           // parameters before the first forward
  Cost forward_gather, backward_gather;  // of a whole step: ZeRO-3
};

DataCost data_cost(const StageVolume& volume, const Layout& layout, const Cluster& cluster);

// Whether the communication of each kind hides behind compute, and how much it slows it.
struct DataOverlap {
  bool reduce = false, gather = false, forward_gather = false, backward_gather = false;
  double slowdown = 0;
};
inline DataOverlap data_overlap(const Layout& layout, const Cluster& cluster) {
  const bool prefetch = layout.zero_stage == 3;
  return {layout.overlap_grad_reduce, layout.overlap_param_gather, prefetch,
          prefetch || layout.overlap_grad_reduce, cluster.device.overlap_slowdown};
}

// What of a stage's data-parallel communication a step waits for.
struct ExposedData {
  Seconds reduce, gather, forward_gather, backward_gather;
  [[nodiscard]] Seconds total() const { return reduce + gather + forward_gather + backward_gather; }
};

// Gradients are reduced while the last micro-batch's backward runs; parameters are gathered while
// the first one's forward does. ZeRO-3 prefetches every layer's. `forward` and `backward` are the
// stage's, of one micro-batch.
inline ExposedData exposed_data(const DataCost& cost, const DataOverlap& overlap, Seconds forward,
                                Seconds backward, double micro_batches) {
  const auto against = [&overlap](const Cost& communication, bool overlaps, Seconds compute) {
    return overlaps ? exposed_time(communication.time, compute, overlap.slowdown)
                    : communication.time;
  };
  return {against(cost.reduce, overlap.reduce, backward),
          against(cost.gather, overlap.gather, forward),
          against(cost.forward_gather, overlap.forward_gather, forward * micro_batches),
          against(cost.backward_gather, overlap.backward_gather, backward * micro_batches)};
}
// The same with what stands behind it.
Cost exposed_cost(const DataCost& cost, const ExposedData& exposed);

}  // namespace meshwright
