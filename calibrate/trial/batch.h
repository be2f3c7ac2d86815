// SPDX-License-Identifier: Apache-2.0
// The trial's data: made from the global number of a sample, so that every layout trains on the
// same batch.
#pragma once

#include <vector>

#include "calibrate/trial/context.h"

namespace meshwright::calibrate {

// What one micro-batch of this data rank reads: token ids and the next ids, or, without a
// vocabulary, numbers and the negated numbers to reach.
struct MicroBatch {
  Tensor input, target;
};

std::vector<MicroBatch> make_micro_batches(const TrialContext& context, int count,
                                           std::uint64_t seed);

}  // namespace meshwright::calibrate
