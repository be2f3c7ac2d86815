// SPDX-License-Identifier: Apache-2.0
// The fitted models beside the points that they were fitted to, and whether they describe them.
//
// residual = measured / modelled - 1. A model describes its points when the spread of the residuals
// is no more than kDescribes, or than three times the points' own noise.
#pragma once

#include <string>
#include <vector>

#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {

inline constexpr double kDescribes = 0.25;

struct FittedPoint {
  double x = 0.0;  // FLOPs of a product, bytes of a payload
  std::string label;
  Seconds measured, modelled;
  double relative_spread = 0.0;  // of the measurement
  [[nodiscard]] double residual() const { return measured / modelled - 1.0; }
};

struct FitCheck {
  std::string title;                // "gemm bf16", "all_reduce over 2 ranks, intra_node"
  std::string x_axis;               // "FLOPs", "bytes"
  std::vector<FittedPoint> points;  // by x
  double residual_spread = 0.0;     // root mean square of log(measured / modelled)
  double noise = 0.0;               // median spread of the points
  [[nodiscard]] bool describes() const;
  // Sentence about the distance of the model from the points.
  [[nodiscard]] std::string sentence() const;
};

// Each number format and each measured collective.
std::vector<FitCheck> check_fits(const Cluster& cluster);

}  // namespace meshwright::calibrate
