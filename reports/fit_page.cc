// SPDX-License-Identifier: Apache-2.0
#include "reports/fit_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/escape.h"
#include "reports/text/text.h"
#include "sim/base/number_text.h"

namespace meshwright::reports {
namespace {

constexpr double kChartWidth = 560.0, kHeight = 220.0, kResiduals = 90.0;
constexpr double kLeft = 70.0, kRight = 12.0, kTop = 12.0, kChartGap = 26.0;

constexpr char kHead[] = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
svg{width:100%;max-width:44rem;height:auto}
text{font:11px system-ui,sans-serif;fill:currentColor}
.axis{stroke:currentColor;stroke-opacity:.4;fill:none}.point{fill:#1a6fb5}.bar{stroke:#1a6fb5}
.model{stroke:#c2410c;fill:none;stroke-width:1.5}.fails{color:#b91c1c}
</style>
)";

double residual(const FitPoint& p) { return p.measured / p.modelled - 1.0; }

// A logarithmic axis from pixels `from` to `to`.
struct LogAxis {
  double low, high, from, to;
  [[nodiscard]] double at(double value) const {
    return from + (to - from) * std::log(value / low) / std::log(high / low);
  }
};

LogAxis axis_over(std::vector<double> values, double from, double to) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low / 1.3, *high * 1.3, from, to};
}

// 1, 10, 100 ... of the axis, three to six of them.
std::vector<double> ticks(const LogAxis& axis) {
  const double decades = std::log10(axis.high / axis.low);
  const double step = std::max(1.0, std::ceil(decades / 6.0));
  std::vector<double> result;
  for (double e = std::ceil(std::log10(axis.low)); std::pow(10.0, e) <= axis.high; e += step) {
    result.push_back(std::pow(10.0, e));
  }
  return result;
}

std::string label_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor,
                     html::escape(text));
}

std::string frame(double top, double height) {
  return fmt::format(R"(<rect class="axis" x="{}" y="{}" width="{}" height="{}"/>)", kLeft, top,
                     kChartWidth - kLeft - kRight, height);
}

std::string times_chart(const FitChart& chart, const LogAxis& x) {
  std::vector<double> seconds;
  for (const FitPoint& p : chart.points) {
    seconds.push_back(p.measured.value());
    seconds.push_back(p.modelled.value());
  }
  const LogAxis y = axis_over(seconds, kTop + kHeight, kTop);
  std::string svg = frame(kTop, kHeight), line;
  for (const double t : ticks(y)) {
    svg += label_at(kLeft - 6, y.at(t) + 4, "end", fmt::format("{} us", number_text(1e6 * t, 3)));
  }
  for (const FitPoint& p : chart.points) {
    const double px = x.at(p.x), model = y.at(p.modelled.value());
    if (chart.curve) {
      line += fmt::format("{:.1f},{:.1f} ", px, model);
    } else {  // products of one size differ in shape: no line goes through them
      svg += fmt::format(R"(<path class="model" d="M{:.1f} {:.1f}h6"/>)", px - 3, model);
    }
    svg += fmt::format(
        R"(<circle class="point" cx="{:.1f}" cy="{:.1f}" r="2.5"><title>{}: {} us measured, {} us modelled</title></circle>)",
        px, y.at(p.measured.value()), html::escape(p.label), number_text(1e6 * p.measured.value()),
        number_text(1e6 * p.modelled.value()));
  }
  if (chart.curve) svg += fmt::format(R"(<polyline class="model" points="{}"/>)", line);
  return svg;
}

std::string residual_chart(const FitChart& chart, const LogAxis& x) {
  double most = 0.1;
  for (const FitPoint& p : chart.points) most = std::max(most, std::abs(residual(p)));
  const double top = kTop + kHeight + kChartGap, middle = top + kResiduals / 2.0;
  std::string svg = frame(top, kResiduals);
  svg += fmt::format(R"(<path class="axis" d="M{} {}H{}"/>)", kLeft, middle, kChartWidth - kRight);
  svg += label_at(kLeft - 6, top + 10, "end", fmt::format("+{:.0f} %", 100.0 * most));
  svg += label_at(kLeft - 6, top + kResiduals, "end", fmt::format("-{:.0f} %", 100.0 * most));
  for (const FitPoint& p : chart.points) {
    svg += fmt::format(R"(<path class="bar" d="M{:.1f} {}V{:.1f}"/>)", x.at(p.x), middle,
                       middle - residual(p) / most * kResiduals / 2.0);
  }
  for (const double t : ticks(x)) {
    svg += label_at(x.at(t), top + kResiduals + 14, "middle", si_text(t, 1));
  }
  svg += label_at(kChartWidth - kRight, top + kResiduals + 28, "end", chart.x_axis);
  return svg;
}

std::string figure(const FitChart& chart) {
  std::vector<double> xs;
  for (const FitPoint& p : chart.points) xs.push_back(p.x);
  const LogAxis x = axis_over(xs, kLeft, kChartWidth - kRight);
  return fmt::format(R"(<h2>{}</h2><p{}>{}.</p><svg viewBox="0 0 {} {}" role="img">{}{}</svg>)"
                     "\n",
                     html::escape(chart.title), chart.describes ? "" : " class=\"fails\"",
                     html::escape(chart.sentence), kChartWidth,
                     kTop + kHeight + kChartGap + kResiduals + 34, times_chart(chart, x),
                     residual_chart(chart, x));
}

}  // namespace

std::string fit_page(const std::vector<FitChart>& charts, const std::string& title) {
  std::string page = kHead;
  page += fmt::format("<title>{0}</title></head><body><h1>{0}</h1>\n", html::escape(title));
  page +=
      "<p>Dots: measured. Orange: the fitted model. Below: measured over modelled. Where points "
      "were measured they are used, not the model.</p>\n";
  for (const FitChart& chart : charts) page += figure(chart);
  return page + "</body></html>\n";
}

}  // namespace meshwright::reports
