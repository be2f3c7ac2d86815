// SPDX-License-Identifier: Apache-2.0
// Models for shapes and sizes between and beyond the measured ones: a sustained GEMM rate, and a
// latency and bandwidth for each link, with how sure they are.
//
// The models are sim's own (GemmModel, Link); least squares on the logarithm of time.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/points.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/device.h"

namespace meshwright::calibrate {

struct FittedParameter {
  std::string name;  // with its unit
  double value = 0.0;
  double standard_error = 0.0;  // in the unit of `value`
  bool operator==(const FittedParameter&) const = default;
};

struct Fit {
  std::string what;  // "gemm fp32", "link intra_node"
  std::vector<FittedParameter> parameters;
  double relative_spread = 0.0;  // of the residuals
  int points = 0;                // number of fitted points
  bool operator==(const Fit&) const = default;
};

// Fills sustained_fraction, ramp_k and the spread of `model` from its points. `device` gives
// launch cost and memory bandwidth, which are measured before. A peak that the model states, the
// datasheet's, stays, and so does a model with too few points to fit, and a ramp where all points
// have one depth; without a peak, the best rate
// that was measured is the peak.
Fit fit_gemm(GemmModel& model, const Device& device);

// Fills latency, bandwidth and the spread of the cluster's link of this tier from its curves. A
// link between nodes is fitted with what the link inside a node already says. A bandwidth that the
// link states stays, and the fraction of it is fitted in its place.
Fit fit_link(Cluster& cluster, Tier tier);

}  // namespace meshwright::calibrate
