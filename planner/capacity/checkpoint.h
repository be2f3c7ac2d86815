// SPDX-License-Identifier: Apache-2.0
// Size of a checkpoint, and the best time between saves.
//
// w: the pause of a save. M: the mean time between failures. tau: training between two saves.
#pragma once

#include "sim/base/job.h"
#include "sim/base/units.h"
#include "sim/model/model.h"

namespace meshwright::planner {

// Bytes a parameter: fp32 master weights (or the fp32 weights themselves), the optimizer's moments,
// and 16-bit weights where they are saved beside them. Adam: 12, with bf16 weights 14.
double checkpoint_bytes_per_parameter(const Job& job, bool with_16_bit_weights);
Bytes checkpoint_bytes(const Model& model, const Job& job, bool with_16_bit_weights);

// tau = sqrt(2 w M) (Young, "A first order approximation to the optimum checkpoint interval", CACM
// 1974).
Seconds young_interval(Seconds pause, Seconds mean_time_between);
// The tau that makes renewal_ettr() (goodput.h) largest: tau / M = 1 - exp(-(tau + w) / M), by
// Newton's method from Young's. What a restart takes does not change it.
Seconds renewal_interval(Seconds pause, Seconds mean_time_between);

}  // namespace meshwright::planner
