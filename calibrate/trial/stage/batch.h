// SPDX-License-Identifier: Apache-2.0
// The trial's data: made from the global number of a sample, so that every layout trains on the
// same batch.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/trial/ranks/context.h"

namespace meshwright::calibrate {

// Inputs of one micro-batch of this data rank: token ids and the next ids. Without a vocabulary
// they are numbers and the negated numbers as targets. Multi-token prediction also reads the ids 2,
// 3 ... ahead, also at the end of a sequence. Megatron-LM puts zeros there and does not count them.
struct MicroBatch {
  Tensor input, target;
  std::vector<Tensor> later_targets;

  // Ids this many ahead of the input's.
  [[nodiscard]] const Tensor& ahead(std::size_t tokens) const {
    if (tokens < 2) return tokens == 0 ? input : target;
    return later_targets[tokens - 2];
  }
};

// (positions, batch) of token ids from `first_position` on; the same for the same sample
// everywhere.
std::vector<std::int32_t> token_ids(const Model& model, std::int64_t batch, std::int64_t positions,
                                    std::int64_t first_sample, std::int64_t first_position,
                                    std::uint64_t seed);

std::vector<MicroBatch> make_micro_batches(const TrialContext& context, int count,
                                           std::uint64_t seed);

}  // namespace meshwright::calibrate
