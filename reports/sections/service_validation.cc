// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/service_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/html/blocks.h"
#include "reports/html/drawing.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/html/plot.h"
#include "reports/tables/serving_validation_table.h"
#include "reports/text/serving_validation_text.h"
#include "sim/base/number_text.h"

namespace meshwright::reports {
namespace {

constexpr double kParityLeft = 64.0, kParityRight = 470.0, kParityTop = 24.0, kParityBottom = 270.0,
                 kParityWidth = 720.0, kParityHeight = 306.0;  // pixels
// A file may say any number; an axis needs finite ones above 0.
constexpr double kLeastTime = 1e-9, kMostTime = 1e300;  // ms

struct ParityPoint {
  std::string_view quantity;
  double predicted, measured;  // ms
  std::string title;
};

std::vector<ParityPoint> parity_points(const planner::ServingValidation& validation) {
  std::vector<ParityPoint> points;
  for (const planner::ServingComparison& one : validation.services) {
    for (const ServedQuantity& each : served_quantities(one)) {
      if (each.unit != "ms" || !(each.predicted > 0.0) || !(each.measured > 0.0)) continue;
      points.push_back(
          {each.name, std::clamp(each.predicted, kLeastTime, kMostTime),
           std::clamp(each.measured, kLeastTime, kMostTime),
           fmt::format("{}, {}: {} ms predicted, {} ms measured", one.name, each.name,
                       number_text(each.predicted, 3), number_text(each.measured, 3))});
    }
  }
  return points;
}

// Whole powers of ten around all times, so that both axes have the same ones.
html::PlotAxis parity_axis(const std::vector<ParityPoint>& points, double begin, double end) {
  double least = kMostTime, most = kLeastTime;
  for (const ParityPoint& point : points) {
    least = std::min({least, point.predicted, point.measured});
    most = std::max({most, point.predicted, point.measured});
  }
  const double from = std::pow(10.0, std::floor(std::log10(least)));
  const double to = std::max(10.0 * from, std::pow(10.0, std::ceil(std::log10(most))));
  return {from, to, begin, end, true};
}

std::string parity_grid(const html::PlotAxis& x, const html::PlotAxis& y) {
  std::string out;
  for (const double value : html::plot_ticks(x)) {
    const double across = x.at(value), down = y.at(value);
    const std::string words = number_text(value, 3);
    out += html::plot_line(across, kParityTop, across, kParityBottom, "grid") +
           html::plot_text(across, kParityBottom + 15.0, "soft", "middle", words) +
           html::plot_line(kParityLeft, down, kParityRight, down, "grid") +
           html::plot_text(kParityLeft - 6.0, down + 4.0, "soft", "end", words);
  }
  return out + html::plot_line(kParityLeft, kParityBottom, kParityRight, kParityTop, "whisker") +
         html::plot_text(0.0, 12.0, "soft", "start", "predicted, ms") +
         html::plot_text(kParityRight, kParityBottom + 31.0, "soft", "end", "measured, ms");
}

// Each quantity's colour is its place among those that are drawn.
std::vector<std::string_view> drawn_quantities(const std::vector<ParityPoint>& points) {
  std::vector<std::string_view> names;
  for (const ParityPoint& point : points) {
    if (std::find(names.begin(), names.end(), point.quantity) == names.end()) {
      names.push_back(point.quantity);
    }
  }
  return names;
}

std::string agreement_table(const planner::ServingValidation& validation) {
  html::TableRows rows;
  for (const ServingFinding& one : serving_findings(validation)) {
    rows.push_back({html::escape(one.of), html::escape(one.says)});
  }
  return html::table("Agreement of predictions and measurements", {{"of"}, {"agreement"}}, rows);
}

std::string compared_deployments(const planner::ServingValidation& validation) {
  return html::paragraph(
             "Each deployment served the requests of the plan. The prediction is of the same "
             "requests and of a KV cache of the same size.") +
         agreement_table(validation) + service_parity_chart(validation) +
         html::numbers("Numbers as a table",
                       html::table("Predicted and measured. The error is predicted / measured - 1; "
                                   "above 0 the prediction is the larger one",
                                   served_quantities_table(validation))) +
         html::table("Deployments that ran", served_runs_table(validation));
}

}  // namespace

std::string service_parity_chart(const planner::ServingValidation& validation) {
  const std::vector<ParityPoint> points = parity_points(validation);
  if (points.empty()) return "";
  const html::PlotAxis x = parity_axis(points, kParityLeft, kParityRight);
  const html::PlotAxis y = parity_axis(points, kParityBottom, kParityTop);
  const std::vector<std::string_view> names = drawn_quantities(points);
  std::string body = parity_grid(x, y);
  const auto colour_of = [&](std::string_view name) {
    const auto place = std::find(names.begin(), names.end(), name) - names.begin();
    return html::kTints[static_cast<std::size_t>(place) % html::kTints.size()].colour;
  };
  for (const ParityPoint& point : points) {
    body += html::plot_point(x.at(point.measured), y.at(point.predicted), colour_of(point.quantity),
                             point.title);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double down = kParityTop + 16.0 + 18.0 * static_cast<double>(i);
    body += html::plot_point(kParityRight + 20.0, down - 4.0, colour_of(names[i]), names[i]) +
            html::plot_text(kParityRight + 32.0, down, "label", "start", names[i]);
  }
  return html::plot_figure(
      {.id = "parity-chart",
       .caption =
           "Predicted against measured times of each deployment. On the diagonal they agree; "
           "above it the prediction is longer.",
       .width = kParityWidth,
       .height = kParityHeight},
      body);
}

std::string service_validation_section(const ServingPlanFile& file) {
  if (!file.validation) return "";
  const planner::ServingValidation& validation = file.validation->validation;
  std::string body;
  if (!file.validation->caution.empty()) body += html::paragraph(file.validation->caution);
  body += html::paragraph(served_sentence(validation));
  if (!validation.services.empty()) body += compared_deployments(validation);
  const std::vector<std::string> partial = served_in_part(validation);
  if (!partial.empty()) body += "<h3>Parts that were not executed</h3>\n" + html::list(partial);
  if (!validation.skipped.empty()) {
    body += "<h3>Deployments that were skipped</h3>\n" + html::list(validation.skipped);
  }
  return html::section("validation", "Predicted and measured", body);
}

}  // namespace meshwright::reports
