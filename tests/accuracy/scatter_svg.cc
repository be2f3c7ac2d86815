// SPDX-License-Identifier: Apache-2.0
#include "tests/accuracy/scatter_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace meshwright::accuracy {
namespace {

constexpr double kSide = 300.0, kMargin = 52.0, kBins = 60.0;

struct Range {
  double low = 0.0, high = 1.0;  // log10 of seconds, whole decades
};

Range range_of(const Panel& panel) {
  Range r{1e9, -1e9};
  for (const TimedPoint& p : panel.points) {
    r.low = std::min({r.low, std::log10(p.measured_seconds), std::log10(p.modelled_seconds)});
    r.high = std::max({r.high, std::log10(p.measured_seconds), std::log10(p.modelled_seconds)});
  }
  return panel.points.empty() ? Range{-6, -3} : Range{std::floor(r.low), std::ceil(r.high)};
}

std::string decade(double power) {
  const int p = static_cast<int>(power);
  const char* units[] = {"us", "ms", "s"};
  const int unit = std::clamp((p + 6) / 3, 0, 2);
  return fmt::format("{:g} {}", std::pow(10.0, p + 6 - 3 * unit), units[unit]);
}

std::string frame(const Panel& panel, const Range& r, double left) {
  const auto at = [&](double power) { return (power - r.low) / (r.high - r.low) * kSide; };
  std::string svg = fmt::format(
      "<text x=\"{}\" y=\"38\" font-size=\"12\">{}</text>\n"
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
      left, panel.title, left, kMargin, kSide, kSide);
  const double bottom = kMargin + kSide;
  for (double power = r.low; power <= r.high; power += 1.0) {
    svg += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"10\" text-anchor=\"middle\">{}</text>\n"
        "<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"10\" text-anchor=\"end\">{}</text>\n",
        left + at(power), bottom + 14, decade(power), left - 4, bottom - at(power) + 3,
        decade(power));
  }
  const double shift = std::log10(1.2) / (r.high - r.low) * kSide;
  for (const double d : {-shift, 0.0, shift}) {
    svg += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#c33\"{}/>\n",
        left + std::max(0.0, -d), bottom - std::max(0.0, d), left + kSide - std::max(0.0, d),
        kMargin + std::max(0.0, -d), d == 0.0 ? "" : " stroke-dasharray=\"3 3\"");
  }
  return svg;
}

std::string dots(const Panel& panel, const Range& r, double left) {
  std::map<std::pair<int, int>, int> bins;
  const auto bin = [&](double seconds) {
    return static_cast<int>((std::log10(seconds) - r.low) / (r.high - r.low) * kBins);
  };
  for (const TimedPoint& p : panel.points) {
    ++bins[{bin(p.measured_seconds), bin(p.modelled_seconds)}];
  }
  const double side = kSide / kBins;
  std::string svg = "<g fill=\"#0a5\">\n";
  for (const auto& [cell, count] : bins) {
    const double weight = std::min(1.0, 0.3 + 0.2 * std::log10(count) * 2.0);
    svg += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" opacity=\"{:.1f}\"/>\n",
        left + cell.first * side, kMargin + kSide - (cell.second + 1) * side, side, side, weight);
  }
  return svg + "</g>\n";
}

}  // namespace

std::string scatter_svg(const std::string& title, const std::vector<Panel>& panels) {
  const double pitch = kSide + 2.0 * kMargin;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"10\" y=\"18\" font-size=\"14\">{}; across: measured, up: modelled; dashed: 20 % "
      "off</text>\n",
      pitch * static_cast<double>(panels.size()), kSide + 2.0 * kMargin, title);
  double left = 1.3 * kMargin;
  for (const Panel& panel : panels) {
    const Range r = range_of(panel);
    svg += frame(panel, r, left) + dots(panel, r, left);
    left += pitch;
  }
  return svg + "</svg>\n";
}

}  // namespace meshwright::accuracy
