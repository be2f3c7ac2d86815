// SPDX-License-Identifier: Apache-2.0
// Measured points beside a fitted model, and how far they are apart, as charts on one page that
// loads nothing from elsewhere.
#pragma once

#include <string>
#include <vector>

#include "sim/base/units.h"

namespace meshwright::reports {

struct FitPoint {
  double x = 0.0;
  std::string label;
  Seconds measured, modelled;
};

struct FitChart {
  std::string title;     // "all_reduce over 2 ranks"
  std::string sentence;  // how far the model is from the points
  bool describes = true;
  std::string x_axis;            // quantity and unit of x
  bool curve = false;            // a line through the modelled times; else a mark a point
  std::vector<FitPoint> points;  // by x; one or more
};

std::string fit_page(const std::vector<FitChart>& charts, const std::string& title);

}  // namespace meshwright::reports
