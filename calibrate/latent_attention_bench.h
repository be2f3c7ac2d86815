// SPDX-License-Identifier: Apache-2.0
// Times the trial's latent attention over a paged cache (trial/serving/paged_latent_attention.h).
#pragma once

#include <memory>

#include "calibrate/backends/communicator.h"
#include "calibrate/bench/bench.h"
#include "calibrate/measure/serving_shapes.h"

namespace meshwright::calibrate {

// Collective over `world`.
std::unique_ptr<Bench> make_latent_attention_bench(Compute& compute, Communicator& world,
                                                   const PagedAttentionShape& shape);

}  // namespace meshwright::calibrate
