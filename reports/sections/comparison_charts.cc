// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/comparison_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "reports/html/drawing.h"
#include "reports/html/plot.h"
#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

constexpr double kDifferenceWidth = 720.0, kDifferenceMiddle = 460.0, kDifferenceHalf = 180.0;
constexpr double kDifferenceRow = 17.0, kDifferenceBar = 11.0;  // pixels
constexpr double kSeenChange = 0.05;                            // percent

struct Difference {
  const ComparedQuantity* quantity = nullptr;
  NumberOfEach changes{};  // percent
};

std::vector<Difference> differences_of(const Comparison& comparison) {
  std::vector<Difference> differences;
  for (const ComparedQuantity& quantity : comparison.quantities) {
    Difference made{&quantity, changes_of(quantity)};
    const bool any = std::any_of(made.changes.begin(), made.changes.end(), [](const auto& change) {
      return change && std::abs(*change) >= kSeenChange;
    });
    if (any) differences.push_back(std::move(made));
  }
  return differences;
}

double largest_difference(const std::vector<Difference>& differences) {
  double largest = 0.0;
  for (const Difference& difference : differences) {
    for (const auto& change : difference.changes) {
      largest = std::max(largest, std::abs(change.value_or(0.0)));
    }
  }
  return largest;
}

struct DifferenceBar {
  std::string name{};  // of the report
  std::optional<double> change{};
  std::string_view colour{};
};

std::string difference_bar(const DifferenceBar& bar, double y, double largest) {
  std::string out = html::plot_text(235.0, y + 9.5, "label", "end", bar.name);
  if (!bar.change)
    return out + html::plot_text(kDifferenceMiddle + 4.0, y + 9.5, "soft", "start", "–");
  const double length = std::abs(*bar.change) / largest * kDifferenceHalf;
  const bool less = *bar.change < 0.0;
  const std::string words =
      fmt::format("{}{} %", less ? "−" : "+", number_text(std::abs(*bar.change), 3));
  const html::Paint paint{"", bar.colour, 0};
  const html::PlotBox box{less ? kDifferenceMiddle - length : kDifferenceMiddle, y, length,
                          kDifferenceBar};
  return out + html::plot_box(box, paint, bar.name + ": " + words) +
         html::plot_text(less ? kDifferenceMiddle - length - 4.0 : kDifferenceMiddle + length + 4.0,
                         y + 9.5, "soft", less ? "end" : "start", words);
}

}  // namespace

std::string differences_chart(const Comparison& comparison) {
  const std::vector<Difference> differences = differences_of(comparison);
  if (differences.empty()) return "";
  const double largest = largest_difference(differences);
  std::string bars;
  double y = 6.0;
  for (const Difference& difference : differences) {
    bars += html::plot_text(0.0, y + 9.5, "strong", "start", difference.quantity->label);
    y += kDifferenceRow;
    for (std::size_t i = 1; i < comparison.reports.size(); ++i) {
      const DifferenceBar bar{comparison.reports[i].name, difference.changes[i],
                              html::kTints[(i - 1) % html::kTints.size()].colour};
      bars += difference_bar(bar, y, largest);
      y += kDifferenceRow;
    }
  }
  return html::plot_figure(
      {.id = "differences",
       .caption = fmt::format("Change of each quantity relative to {}, in percent.",
                              comparison.reports.front().name),
       .width = kDifferenceWidth,
       .height = y + 4.0},
      html::plot_line(kDifferenceMiddle, 0.0, kDifferenceMiddle, y, "axis") + bars);
}

}  // namespace meshwright::reports
