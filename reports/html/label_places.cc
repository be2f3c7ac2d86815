// SPDX-License-Identifier: Apache-2.0
#include "reports/html/label_places.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/quadrature.h"

namespace meshwright::reports::html {
namespace {

constexpr double kLetter = 6.6, kLine = 12.0, kAway = 8.0;  // pixels
constexpr double kLineBox = 3.0;                            // pixels, half of a box on a line

bool overlap(const PlotBox& a, const PlotBox& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

bool meets_any(const PlotBox& box, const std::vector<PlotBox>& boxes) {
  return std::any_of(boxes.begin(), boxes.end(),
                     [&](const PlotBox& other) { return overlap(box, other); });
}

PlotBox box_of(const LabelPlaces::Label& label, std::string_view words) {
  const double width = kLetter * static_cast<double>(words.size());
  const bool at_end = std::string_view(label.anchor) == "end";
  return {at_end ? label.x - width : label.x, label.y - kLine, width, kLine + 2.0};
}

}  // namespace

void LabelPlaces::block_line(double x1, double y1, double x2, double y2) {
  const double length = in_quadrature(x2 - x1, y2 - y1);
  const int boxes = std::max(1, static_cast<int>(std::ceil(length / (2.0 * kLineBox))));
  for (int i = 0; i <= boxes; ++i) {
    const double way = static_cast<double>(i) / boxes;
    lines_.push_back({x1 + way * (x2 - x1) - kLineBox, y1 + way * (y2 - y1) - kLineBox,
                      2.0 * kLineBox, 2.0 * kLineBox});
  }
}

bool LabelPlaces::fits(const PlotBox& box, bool over_lines) const {
  if (box.x < 0.0 || box.y < 0.0 || box.x + box.width > width_) return false;
  return !meets_any(box, taken_) && (over_lines || !meets_any(box, lines_));
}

std::optional<LabelPlaces::Label> LabelPlaces::first_free(const std::vector<Label>& labels,
                                                          std::string_view words) {
  for (const bool over_lines : {false, true}) {
    for (const Label& label : labels) {
      const PlotBox box = box_of(label, words);
      if (!fits(box, over_lines)) continue;
      taken_.push_back(box);
      return label;
    }
  }
  return std::nullopt;
}

std::optional<LabelPlaces::Label> LabelPlaces::place(double x, double y, std::string_view words) {
  return first_free({{x + kAway, y - 7.0, "start"},
                     {x + kAway, y + 15.0, "start"},
                     {x - kAway, y - 7.0, "end"},
                     {x - kAway, y + 15.0, "end"}},
                    words);
}

std::optional<LabelPlaces::Label> LabelPlaces::place_along(double x1, double y1, double x2,
                                                           double y2, std::string_view words) {
  constexpr std::array kWays{0.5, 0.35, 0.65, 0.2, 0.8};
  // A line that rises to the right is free above on its left and below on its right.
  const bool rises = (x2 - x1) * (y2 - y1) < 0.0;
  const char* above = rises ? "end" : "start";
  const char* below = rises ? "start" : "end";
  std::vector<Label> labels;
  for (const double away : {kAway, 2.0 * kAway}) {
    for (const double way : kWays) {
      const double x = x1 + way * (x2 - x1), y = y1 + way * (y2 - y1);
      const double right = rises ? -away : away;
      labels.push_back({x + right, y - 6.0, above});
      labels.push_back({x - right, y + 17.0, below});
    }
  }
  return first_free(labels, words);
}

}  // namespace meshwright::reports::html
