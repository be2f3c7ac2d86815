// SPDX-License-Identifier: Apache-2.0
// A product while a collective runs: how much does each slow the other down?
//
// Both are timed alone, then together; the collective is called as often as takes about as long as
// the product. slowdown = (time of both - product alone) / collective alone, which is what
// Device::overlap_slowdown means: 0 when the collective is free, 1 when nothing is gained.
#pragma once

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/measure/measurement.h"
#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

// Collective over `world`, which all work. `options` limits each of the three timings.
MeasuredPoint measure_overlap(Compute& compute, Communicator& world, MeasuredPoint point,
                              const MeasureOptions& options);

}  // namespace meshwright::calibrate
