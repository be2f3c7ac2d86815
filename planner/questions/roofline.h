// SPDX-License-Identifier: Apache-2.0
// Operators of a layer and of the head under the device's two roofs: FLOPs a second against FLOPs
// per byte, forward, one micro-batch on one rank (Williams 2009, "Roofline").
//
// Attainable rate = min(peak, intensity x bandwidth). The roofs are the datasheet's. Times are
// those of the step's prediction.
#pragma once

#include <string>
#include <vector>

#include "sim/layout/layout.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

struct RooflineOperator {
  std::string name{};
  Flops work;
  Bytes traffic;  // read and written
  Seconds time;
  [[nodiscard]] double intensity() const { return work.value() / traffic.value(); }
  [[nodiscard]] FlopsPerSecond rate() const { return work / time; }
};

struct Roofline {
  FlopsPerSecond peak;  // of products in the job's number format
  BytesPerSecond bandwidth;
  std::vector<RooflineOperator> operators{};  // without those that have no FLOPs
  [[nodiscard]] FlopsPerSecond attainable(double intensity) const;
};

// The last layer's operators: those of experts where the model has any.
Roofline roofline_of(const Scenario& scenario, Layout layout);

}  // namespace meshwright::planner
