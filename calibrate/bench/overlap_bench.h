// SPDX-License-Identifier: Apache-2.0
// A product while a collective, or a copy between host and device, runs: how much does each slow
// the other down?
//
// Both are timed alone, then together, each as often as takes about as long as the other, and at
// least as long as a sample. slowdown = (time of both - product alone) / transfer alone, which of
// collectives is what Device::overlap_slowdown means: 0 when the transfer is free, 1 when nothing
// is gained.
#pragma once

#include <memory>
#include <string>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/measure/measurement.h"
#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

// Number of calls of each while both run together.
struct OverlapCalls {
  int products = 1, transfers = 1;
};
OverlapCalls overlap_calls(Seconds product, Seconds transfer, double shortest_sample);

class OverlapBench {
 public:
  OverlapBench() = default;
  OverlapBench(const OverlapBench&) = delete;
  OverlapBench& operator=(const OverlapBench&) = delete;
  virtual ~OverlapBench() = default;

  // Empty when the product is right, else what was wrong.
  [[nodiscard]] virtual std::string check() = 0;
  // Collective over the world. `options` limits each of the three timings.
  [[nodiscard]] virtual MeasuredPoint measured(MeasuredPoint point,
                                               const MeasureOptions& options) = 0;
};

// The point is a timed::Overlap. All ranks of `world` work, each in its `group`, of which the
// point's collective is.
std::unique_ptr<OverlapBench> make_overlap_bench(Compute& compute, Communicator& world,
                                                 Communicator& group, const MeasuredPoint& point);
// The point is a timed::CopyOverlap.
std::unique_ptr<OverlapBench> make_copy_overlap_bench(Compute& compute, Communicator& world,
                                                      const MeasuredPoint& point);

}  // namespace meshwright::calibrate
