// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/load_curve.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace meshwright::planner {
namespace {

std::vector<LoadPoint> points_of(const LoadCurve& curve) {
  if (!curve.points.empty()) return curve.points;
  std::vector<LoadPoint> points;
  for (const double rate : curve.requests_per_second) {
    points.push_back({static_cast<double>(points.size()), rate});
  }
  return points;
}

// The same time inside the first period.
double within_period(const LoadCurve& curve, double hour) {
  const double period = curve.period_hours;
  return hour - period * std::floor(hour / period);
}

double rate_between(const LoadPoint& before, const LoadPoint& after, double hour) {
  const double share = (hour - before.hour) / (after.hour - before.hour);
  return before.requests_per_second +
         share * (after.requests_per_second - before.requests_per_second);
}

double rate_of(const LoadCurve& curve, const std::vector<LoadPoint>& points, double hour) {
  const double at = within_period(curve, hour), period = curve.period_hours;
  const auto next =
      std::upper_bound(points.begin(), points.end(), at,
                       [](double time, const LoadPoint& point) { return time < point.hour; });
  LoadPoint before = next == points.begin() ? points.back() : *std::prev(next);
  if (next == points.begin()) before.hour -= period;
  if (curve.between == CurveShape::steps) return before.requests_per_second;
  LoadPoint after = next == points.end() ? points.front() : *next;
  if (next == points.end()) after.hour += period;
  return rate_between(before, after, at);
}

// `points`: of the curve.
HourLoad load_between(const LoadCurve& curve, const std::vector<LoadPoint>& points, double begin,
                      double end) {
  std::vector<double> times{begin};
  for (const LoadPoint& point : points) {
    if (point.hour > begin && point.hour < end) times.push_back(point.hour);
  }
  times.push_back(end);
  HourLoad load;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    const double first = rate_of(curve, points, times[i]);
    const double last =
        curve.between == CurveShape::steps ? first : rate_of(curve, points, times[i + 1]);
    load.mean += (times[i + 1] - times[i]) * (first + last) / 2.0;
    load.peak = std::max({load.peak, first, last});
  }
  return load;
}

}  // namespace

double rate_at(const LoadCurve& curve, double hour) {
  return rate_of(curve, points_of(curve), hour);
}

HourLoad load_of_hour(const LoadCurve& curve, int hour) {
  return load_between(curve, points_of(curve), hour, hour + 1.0);
}

std::vector<HourLoad> hourly_load(const LoadCurve& curve) {
  const std::vector<LoadPoint> points = points_of(curve);
  std::vector<HourLoad> hours;
  for (int hour = 0; hour < curve.period_hours; ++hour) {
    hours.push_back(load_between(curve, points, hour, hour + 1.0));
  }
  return hours;
}

double peak_rate(const LoadCurve& curve) {
  double peak = 0.0;
  for (const LoadPoint& point : points_of(curve)) {
    peak = std::max(peak, point.requests_per_second);
  }
  return peak;
}

}  // namespace meshwright::planner
