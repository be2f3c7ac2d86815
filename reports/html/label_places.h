// SPDX-License-Identifier: Apache-2.0
// Free places for the labels of a chart. Labels cover neither each other nor marks, and lines only
// where no other place is left.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "reports/html/plot.h"

namespace meshwright::reports::html {

class LabelPlaces {
 public:
  struct Label {
    double x = 0.0, y = 0.0;  // pixels, of the anchor on the text's base line
    const char* anchor = "start";
  };

  explicit LabelPlaces(double width) : width_(width) {}

  // A mark or a label that is drawn elsewhere.
  void block(const PlotBox& box) { taken_.push_back(box); }
  // A line that labels should not cross.
  void block_line(double x1, double y1, double x2, double y2);

  // Takes the first free place around a point. Nothing: every place would cover a label or a mark.
  std::optional<Label> place(double x, double y, std::string_view words);
  // Takes the first free place above or below a line, near its middle first.
  std::optional<Label> place_along(double x1, double y1, double x2, double y2,
                                   std::string_view words);

 private:
  std::optional<Label> first_free(const std::vector<Label>& labels, std::string_view words);
  [[nodiscard]] bool fits(const PlotBox& box, bool over_lines) const;

  double width_ = 0.0;
  std::vector<PlotBox> taken_;
  std::vector<PlotBox> lines_;  // small boxes along each line
};

}  // namespace meshwright::reports::html
