// SPDX-License-Identifier: Apache-2.0
// Static charts as SVG that needs no script: axes, marks, and the figure around them. Their size is
// fixed by their content, so that links, paper and captures keep it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/html/drawing.h"

namespace meshwright::reports::html {

// A number's place on an axis.
struct PlotAxis {
  double from = 0.0, to = 1.0;    // values
  double begin = 0.0, end = 1.0;  // pixels
  bool logarithmic = false;       // values are positive
  [[nodiscard]] double at(double value) const;
};

// Round numbers inside the axis, at most six. A logarithmic axis has powers of ten.
std::vector<double> plot_ticks(const PlotAxis& axis);

struct PlotBox {
  double x = 0.0, y = 0.0, width = 0.0, height = 0.0;  // pixels
};

// `name` is the class: "grid", "axis", "whisker", "limit" ... (style.css).
std::string plot_line(double x1, double y1, double x2, double y2, std::string_view name);
// `anchor`: "start", "middle" or "end". The words are escaped.
std::string plot_text(double x, double y, std::string_view name, std::string_view anchor,
                      std::string_view words);
// A box in the colour and the pattern of a paint; `title` is told under the mouse.
std::string plot_box(const PlotBox& box, const Paint& paint, std::string_view title);
// A point that tells `title` under the mouse.
std::string plot_point(double x, double y, std::string_view colour, std::string_view title);

struct PlotFigure {
  std::string_view id{};
  std::string caption{};             // one sentence
  double width = 0.0, height = 0.0;  // pixels
};

// <figure id=...> with its caption and `body` as one SVG, which phones scroll.
std::string plot_figure(const PlotFigure& figure, const std::string& body);

}  // namespace meshwright::reports::html
