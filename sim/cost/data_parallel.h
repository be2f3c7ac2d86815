// SPDX-License-Identifier: Apache-2.0
// Time of a stage's gradient, parameter and other once-a-step communication, and what of it the
// step waits for.
#pragma once

#include "sim/cost/stage.h"

namespace meshwright {

// Once-a-step communication of a stage (gradients, parameters, tied embedding, norms), and what
// ZeRO-3 adds to each micro-batch.
struct DataCost {
  Cost reduce;                           // gradients and everything after the last backward
  Cost gather;                           // parameters before the first forward
  Cost forward_gather, backward_gather;  // of a whole step: ZeRO-3
};

DataCost data_cost(const StageVolume& volume, const Layout& layout, const Cluster& cluster);

// What of a stage's data-parallel communication a step waits for.
Cost exposed_data(const DataCost& cost, const StageCost& stage, const Layout& layout,
                  double micro_batches, double overlap_slowdown);

}  // namespace meshwright
