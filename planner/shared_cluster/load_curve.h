// SPDX-License-Identifier: Apache-2.0
// Requests of a service over a day or a week.
//
// A curve is one rate an hour, or points of hour and rate. It repeats after its period. `steps`: a
// rate holds until the next one. `linear`: the rate changes evenly from one point to the next.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.h"

namespace meshwright::planner {

enum class CurveShape { steps, linear };
inline constexpr std::array kCurveShapeNames{EnumName{CurveShape::steps, "steps"},
                                             EnumName{CurveShape::linear, "linear"}};
constexpr std::string_view name_of(CurveShape v) { return name_in(kCurveShapeNames, v); }

struct LoadPoint {
  double hour = 0.0;                 // from the start of the period
  double requests_per_second = 0.0;  // at that time
  bool operator==(const LoadPoint&) const = default;
};

inline constexpr int kHoursOfADay = 24, kHoursOfAWeek = 168;

// Either rates or points. A rate belongs to the start of its hour.
struct LoadCurve {
  std::vector<double> requests_per_second{};
  std::vector<LoadPoint> points{};  // hours rise
  int period_hours = kHoursOfADay;
  CurveShape between = CurveShape::steps;
  bool operator==(const LoadCurve&) const = default;
};

// Requests a second at a time in hours; any number, because the curve repeats.
double rate_at(const LoadCurve& curve, double hour);

// Requests a second of one hour.
struct HourLoad {
  double mean = 0.0, peak = 0.0;
};
// The mean is exact: rates are straight lines between the points.
HourLoad load_of_hour(const LoadCurve& curve, int hour);
// One entry an hour of the period.
std::vector<HourLoad> hourly_load(const LoadCurve& curve);
// The largest rate of the period.
double peak_rate(const LoadCurve& curve);

}  // namespace meshwright::planner
