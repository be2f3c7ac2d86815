// SPDX-License-Identifier: Apache-2.0
// A product while a collective runs: how much does each slow the other down?
//
// Both are timed alone, then together, each as often as takes about as long as the other, and at
// least as long as a sample. slowdown = (time of both - product alone) / collective alone, which is
// what Device::overlap_slowdown means: 0 when the collective is free, 1 when nothing is gained.
#pragma once

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/measure/measurement.h"
#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

// Number of calls of each while both run together.
struct OverlapCalls {
  int products = 1, collectives = 1;
};
OverlapCalls overlap_calls(Seconds product, Seconds collective, double shortest_sample);

// Collective over `world`, all of whose ranks work, each in its `group`: the point's collective is
// of the group. `options` limits each of the three timings.
MeasuredPoint measure_overlap(Compute& compute, Communicator& world, Communicator& group,
                              MeasuredPoint point, const MeasureOptions& options);

}  // namespace meshwright::calibrate
