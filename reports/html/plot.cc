// SPDX-License-Identifier: Apache-2.0
#include "reports/html/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/escape.h"

namespace meshwright::reports::html {
namespace {

std::vector<double> powers_of_ten(const PlotAxis& axis) {
  constexpr int kMost = 6;
  const double first = std::ceil(std::log10(axis.from) - 1e-9);
  const double last = std::floor(std::log10(axis.to) + 1e-9);
  const double step = std::max(1.0, std::ceil((last - first + 1.0) / kMost));
  std::vector<double> ticks;
  for (double power = first; power <= last; power += step) ticks.push_back(std::pow(10.0, power));
  return ticks;
}

}  // namespace

double PlotAxis::at(double value) const {
  const double share =
      logarithmic ? std::log(value / from) / std::log(to / from) : (value - from) / (to - from);
  return begin + share * (end - begin);
}

std::vector<double> plot_ticks(const PlotAxis& axis) {
  if (axis.logarithmic) return powers_of_ten(axis);
  const double span = axis.to - axis.from;
  double step = std::pow(10.0, std::floor(std::log10(span)));
  for (const double part : {0.1, 0.2, 0.25, 0.5, 1.0}) {
    if (span / (step * part) > 6.0) continue;
    step *= part;
    break;
  }
  std::vector<double> ticks;
  for (double tick = std::ceil(axis.from / step) * step; tick <= axis.to; tick += step) {
    ticks.push_back(tick);
  }
  return ticks;
}

std::string plot_line(double x1, double y1, double x2, double y2, std::string_view name) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                     name, x1, y1, x2, y2);
}

std::string plot_text(double x, double y, std::string_view name, std::string_view anchor,
                      std::string_view words) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>",
                     name, x, y, anchor, escape(words));
}

std::string plot_box(const PlotBox& box, const Paint& paint, std::string_view title) {
  const std::string place =
      fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"", box.x, box.y,
                  std::max(0.0, box.width), box.height);
  std::string out = fmt::format("<rect {} fill=\"{}\"><title>{}</title></rect>", place,
                                paint.colour, escape(title));
  if (paint.pattern > 0) {
    out += fmt::format("<rect {} fill=\"url(#pattern{})\" pointer-events=\"none\"/>", place,
                       paint.pattern);
  }
  return out;
}

std::string plot_point(double x, double y, std::string_view colour, std::string_view title) {
  return fmt::format(
      "<circle class=\"point\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\">"
      "<title>{}</title></circle>",
      x, y, colour, escape(title));
}

std::string plot_figure(const PlotFigure& figure, const std::string& body) {
  return fmt::format(
      "<figure class=\"plot\" id=\"{0}\"><figcaption>{1}</figcaption>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{1}\">"
      "<svg class=\"decision plot\" viewBox=\"0 0 {2:.0f} {3:.0f}\" role=\"img\" "
      "aria-label=\"{1}\">{4}</svg></div></figure>\n",
      figure.id, escape(figure.caption), figure.width, figure.height, body);
}

}  // namespace meshwright::reports::html
