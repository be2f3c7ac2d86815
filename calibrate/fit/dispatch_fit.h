// SPDX-License-Identifier: Apache-2.0
// What DeepEP reaches on this machine, from its own tests' times (measure/deepep.h): a link's
// deepep_fraction for training's flex dispatcher, and the low-latency rates of serving.
#pragma once

#include <vector>

#include "calibrate/fit/fit.h"
#include "calibrate/measure/points.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/inference_rates.h"

namespace meshwright::calibrate {

// Sets deepep_fraction of the links that points are of: the median share of what NCCL reaches on
// them, at most all of it. Inside a node: payload (n - 1) / n / time over bandwidth *
// bandwidth_fraction. Between D nodes: payload (D - 1) / D of all ranks of a node / time over the
// node's NICs. Links come first.
void fit_dispatch(Cluster& cluster, const std::vector<MeasuredPoint>& points,
                  std::vector<Fit>& fits);

// Rates for each number of nodes that was measured. One size says nothing of latency and bandwidth
// apart: both of the rate that is fitted over published tests are scaled to the times.
std::vector<DispatchRate> fit_low_latency(const Cluster& cluster,
                                          const std::vector<MeasuredPoint>& points);

}  // namespace meshwright::calibrate
