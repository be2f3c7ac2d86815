// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/drift.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/bench/point_bench.h"
#include "sim/base/overloaded.h"
#include "sim/base/statistics.h"

namespace meshwright::calibrate {
namespace {

constexpr std::size_t kEveryNth = 10;
constexpr int kFewestOfAGroup = 2;
constexpr double kDriftDeviations = 3.0;
// Smallest assumed relative spread between two measurements on one machine a minute apart.
constexpr double kLeastDriftSpread = 0.01;

std::string drift_group_of(const MeasuredPoint& p) {
  return std::visit(
      Overloaded{
          [](const timed::Gemm& s) { return fmt::format("gemm {}", name_of(s.product.precision)); },
          [](const timed::SustainedGemm& s) {
            return fmt::format("sustained gemm {}", name_of(s.product.precision));
          },
          [](const timed::Kernel&) { return std::string("kernels"); },
          [](const timed::CollectiveCall& s) {
            return fmt::format("{} {}", name_of(s.call.collective), name_of(s.call.tier));
          },
          [](const auto& s) { return std::string(s.kName); }},
      p.subject);
}

// Statistics of pairs of times: the logarithm of their ratio, and the variance of its noise.
struct Pairs {
  std::vector<double> log_ratios, variances;
};

double variance_of(const MeasuredPoint& p) {
  const double spread = std::max(kLeastDriftSpread, p.measurement.summary.relative_spread);
  return spread * spread;
}

GroupDrift judged(std::string group, const Pairs& pairs, double tolerance) {
  const double middle = mean(pairs.log_ratios);
  const auto n = static_cast<double>(pairs.log_ratios.size());
  GroupDrift drift{.group = std::move(group),
                   .time_ratio = std::exp(middle),
                   .noise = kDriftDeviations * std::sqrt(mean(pairs.variances) / n),
                   .points = static_cast<int>(n)};
  drift.drifted = std::abs(middle) > std::log1p(tolerance) && std::abs(middle) > drift.noise;
  return drift;
}

std::string text_of(const GroupDrift& d) {
  const bool slower = d.time_ratio > 1.0;
  const double percent = 100.0 * (slower ? d.time_ratio - 1.0 : 1.0 / d.time_ratio - 1.0);
  return fmt::format("{} is {:.0f} % {} ({} points, noise {:.0f} %)", d.group, percent,
                     slower ? "slower" : "faster", d.points, 100.0 * d.noise);
}

}  // namespace

std::vector<MeasuredPoint> drift_sample(const std::vector<MeasuredPoint>& points) {
  std::map<std::string, int> taken;
  std::vector<MeasuredPoint> sample;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!can_be_timed(points[i])) continue;
    int& count = taken[drift_group_of(points[i])];
    if (i % kEveryNth != 0 && count >= kFewestOfAGroup) continue;
    ++count;
    sample.push_back(points[i]);
  }
  return sample;
}

bool DriftReport::holds() const {
  return std::none_of(groups.begin(), groups.end(), [](const GroupDrift& d) { return d.drifted; });
}

std::string DriftReport::sentence() const {
  int points = 0;
  std::vector<std::string> drifted;
  for (const GroupDrift& d : groups) {
    points += d.points;
    if (d.drifted) drifted.push_back(text_of(d));
  }
  if (drifted.empty()) {
    return fmt::format("the profile still holds: {} points in {} groups were measured again",
                       points, groups.size());
  }
  return fmt::format(
      "the profile no longer holds: {}; calibrate again, or look for what changed (clocks, driver, "
      "libraries, other programs)",
      fmt::join(drifted, ", "));
}

DriftReport compare_points(const std::vector<MeasuredPoint>& before,
                           const std::vector<MeasuredPoint>& again, double tolerance) {
  std::map<std::string, Pairs> groups;
  for (const MeasuredPoint& now : again) {
    const auto old = std::find_if(before.begin(), before.end(),
                                  [&](const MeasuredPoint& p) { return same_subject(p, now); });
    if (old == before.end()) continue;
    Pairs& group = groups[drift_group_of(now)];
    group.log_ratios.push_back(std::log(now.time() / old->time()));
    group.variances.push_back(variance_of(now) + variance_of(*old));
  }
  DriftReport report;
  for (const auto& [group, pairs] : groups) {
    report.groups.push_back(judged(group, pairs, tolerance));
  }
  return report;
}

}  // namespace meshwright::calibrate
