// SPDX-License-Identifier: Apache-2.0
// Benches of what an inference engine's step consists of besides products, kernels and messages:
// the trial's own attention over a paged cache, and the host's part of its engine's step. They run
// the trial's code, on any backend; each rank works alone, or with one other that it hands caches
// to.
#pragma once

#include <memory>

#include "calibrate/backends/communicator.h"
#include "calibrate/bench/bench.h"
#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

// Of a point of kind paged_attention, engine_step or cache_copy; null of others. Collective over
// `world`.
std::unique_ptr<Bench> make_serving_bench(Compute& compute, Communicator& world,
                                          const MeasuredPoint& point);

}  // namespace meshwright::calibrate
