// SPDX-License-Identifier: Apache-2.0
// Measured against modelled times as one small SVG: panels side by side, both axes logarithmic,
// points binned so that the file stays small, with the diagonal and 20 % beside it.
#pragma once

#include <string>
#include <vector>

namespace meshwright::accuracy {

struct TimedPoint {
  double measured_seconds = 0.0, modelled_seconds = 0.0;
};
struct Panel {
  std::string title;
  std::vector<TimedPoint> points;
};

std::string scatter_svg(const std::string& title, const std::vector<Panel>& panels);

}  // namespace meshwright::accuracy
