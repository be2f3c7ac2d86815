// SPDX-License-Identifier: Apache-2.0
// Times a prompt's cache on its way from rank to rank (trial/serving/pool_flow.h).
#pragma once

#include <memory>

#include "calibrate/backends/communicator.h"
#include "calibrate/bench/bench.h"
#include "calibrate/measure/serving_shapes.h"

namespace meshwright::calibrate {

// Collective over `world`.
std::unique_ptr<Bench> make_cache_copy_bench(Compute& compute, Communicator& world,
                                             const CacheCopyShape& shape);

}  // namespace meshwright::calibrate
