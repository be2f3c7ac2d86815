// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/capacity_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/html/drawing.h"
#include "reports/html/plot.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

constexpr double kNameEnd = 250.0, kBarsEnd = 600.0;  // pixels
constexpr double kMeanLetter = 6.8;                   // pixels, mean width
constexpr double kRowHeight = 24.0, kBarHeight = 15.0;
constexpr double kSecondsOfADay = 86400.0;

std::string part_words(double days, const planner::Quantiles& range) {
  return fmt::format("{} ({}–{})", duration_text(seconds(days * kSecondsOfADay)),
                     duration_text(seconds(range.p10 * kSecondsOfADay)),
                     duration_text(seconds(range.p90 * kSecondsOfADay)));
}

double width_of(std::string_view words) { return kMeanLetter * static_cast<double>(words.size()); }

// A row of the waterfall: its bar begins where the parts above end, its whisker is P10-P90.
struct WaterfallRow {
  std::string name{};
  double begin = 0.0, end = 0.0;  // days
  planner::Quantiles range{};     // days from `begin`
};

std::string waterfall_row(const WaterfallRow& row, double y, const html::PlotAxis& axis) {
  const std::string words = part_words(row.end - row.begin, row.range);
  const double x = axis.at(row.begin), middle = y + kBarHeight / 2.0;
  const html::PlotBox box{x, y, std::max(1.0, axis.at(row.end) - x), kBarHeight};
  return html::plot_text(kNameEnd, y + 12.0, "label", "end", spoken(row.name)) +
         html::plot_box(box, html::paint_of(row.name),
                        fmt::format("{}: {}", spoken(row.name), words)) +
         html::plot_line(axis.at(row.begin + row.range.p10), middle,
                         axis.at(row.begin + row.range.p90), middle, "axis") +
         html::plot_text(kBarsEnd + 8.0, y + 12.0, "soft", "start", words);
}

html::PlotAxis days_axis(const std::vector<WaterfallRow>& rows) {
  double most = 0.0;
  for (const WaterfallRow& row : rows) {
    most = std::max({most, row.end, row.begin + row.range.p90});
  }
  return {0.0, most, kNameEnd + 10.0, kBarsEnd};
}

std::string days_grid(const html::PlotAxis& axis, double height) {
  std::string out;
  for (const double day : html::plot_ticks(axis)) {
    out += html::plot_line(axis.at(day), 0.0, axis.at(day), height, "grid") +
           html::plot_text(axis.at(day), height + 13.0, "soft", "middle", number_text(day, 3));
  }
  return out + html::plot_text(kBarsEnd, height + 27.0, "soft", "end", "days from the start");
}

}  // namespace

std::string waterfall_chart(const Capacity& capacity) {
  const CapacityRow* front = capacity.front();
  if (capacity.elapsed.empty() || front == nullptr || !front->fits) return "";
  std::vector<WaterfallRow> rows;
  double end = 0.0;
  for (const ElapsedPart& part : capacity.elapsed) {
    rows.push_back({part.name, end, end + part.days, part.range});
    end += part.days;
  }
  rows.push_back({"elapsed", 0.0, end, front->days});
  const html::PlotAxis axis = days_axis(rows);
  const double height = kRowHeight * static_cast<double>(rows.size());
  std::string body = days_grid(axis, height);
  double y = 4.0, words = 0.0;
  for (const WaterfallRow& row : rows) {
    body += waterfall_row(row, y, axis);
    words = std::max(words, width_of(part_words(row.end - row.begin, row.range)));
    y += kRowHeight;
  }
  return html::plot_figure(
      {.id = "waterfall",
       .caption = "Parts of the elapsed time at the predicted inputs, one after the other; lines "
                  "and parentheses are P10–P90 of each part.",
       .width = kBarsEnd + 8.0 + words,
       .height = height + 32.0},
      body);
}

namespace {

constexpr double kPlotLeft = 50.0, kPlotRight = 590.0, kPlotTop = 28.0, kPlotBottom = 264.0;

struct GoodputPlane {
  html::PlotAxis x, y;
};

GoodputPlane goodput_plane(const planner::GoodputCurves& curves) {
  double least = 1.0;
  for (const planner::GoodputCurve& curve : curves.curves) {
    for (const double goodput : curve.goodput) least = std::min(least, goodput);
  }
  return {{static_cast<double>(curves.gpus.front()), static_cast<double>(curves.gpus.back()),
           kPlotLeft, kPlotRight, true},
          {std::max(0.0, least - 0.05 * (1.0 - least)), 1.0, kPlotBottom, kPlotTop}};
}

std::string goodput_frame(const planner::GoodputCurves& curves, const GoodputPlane& plane,
                          std::string_view nouns) {
  std::string out;
  for (const double share : html::plot_ticks(plane.y)) {
    out += html::plot_line(kPlotLeft, plane.y.at(share), kPlotRight, plane.y.at(share), "grid") +
           html::plot_text(kPlotLeft - 6.0, plane.y.at(share) + 4.0, "soft", "end",
                           number_text(share * 100.0, 3));
  }
  for (const int gpus : curves.gpus) {
    out +=
        html::plot_text(plane.x.at(gpus), kPlotBottom + 15.0, "soft", "middle", count_text(gpus));
  }
  return out + html::plot_text(0.0, 12.0, "soft", "start", "goodput, %") +
         html::plot_text(kPlotRight, kPlotBottom + 30.0, "soft", "end", nouns);
}

std::string name_of(const planner::GoodputCurve& curve) {
  return "restart " + duration_text(curve.restart);
}

std::string goodput_line(const planner::GoodputCurves& curves, std::size_t place,
                         const GoodputPlane& plane) {
  const planner::GoodputCurve& curve = curves.curves[place];
  const std::string_view colour = html::kTints[place % html::kTints.size()].colour;
  const std::string restart = duration_text(curve.restart);
  std::string path, points;
  for (std::size_t i = 0; i < curve.goodput.size(); ++i) {
    const double x = plane.x.at(curves.gpus[i]), y = plane.y.at(curve.goodput[i]);
    path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x, y);
    points +=
        html::plot_point(x, y, colour,
                         fmt::format("{}, restart of {}: goodput {}", count_text(curves.gpus[i]),
                                     restart, percent_text(curve.goodput[i])));
  }
  // Lines meet on the left and part on the right, where their names stand.
  const double y = kPlotTop + 14.0 + 16.0 * static_cast<double>(place);
  return fmt::format("<path class=\"curve\" style=\"stroke:{}\" d=\"{}\"/>", colour, path) +
         points + html::plot_point(kPlotRight + 20.0, y - 4.0, colour, restart) +
         html::plot_text(kPlotRight + 30.0, y, "label", "start", name_of(curve));
}

}  // namespace

std::string goodput_chart(const Capacity& capacity, DeviceKind kind) {
  if (!capacity.goodput_curves || capacity.goodput_curves->gpus.size() < 2) return "";
  const planner::GoodputCurves& curves = *capacity.goodput_curves;
  const GoodputPlane plane = goodput_plane(curves);
  std::string body = goodput_frame(curves, plane, device_noun(kind, 2));
  double names = 0.0;
  for (std::size_t place = 0; place < curves.curves.size(); ++place) {
    body += goodput_line(curves, place, plane);
    names = std::max(names, width_of(name_of(curves.curves[place])));
  }
  return html::plot_figure(
      {.id = "goodput",
       .caption = "Goodput of this run on fewer and more devices, each with its best save "
                  "interval. Lines: restarts of a quarter to four times the stated time.",
       .width = kPlotRight + 30.0 + names,
       .height = kPlotBottom + 34.0},
      body);
}

}  // namespace meshwright::reports
