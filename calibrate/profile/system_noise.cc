// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/system_noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/kernel_time/slowest.h"

namespace meshwright::calibrate {
namespace {

constexpr double kWorthSaying = 0.01, kDisturbed = 0.15;
constexpr double kMostJitter = 10.0;  // that a device's file may have

struct Sums {
  Seconds median, mean, rank_mean;
};

template <typename Counts>
Sums sums_of(const std::vector<MeasuredPoint>& points, const Counts& counts) {
  Sums sums;
  for (const MeasuredPoint& p : points) {
    const Measurement& m = p.measurement;
    if (!p.source.empty() || m.mean == seconds(0) || !counts(p)) continue;
    sums.median += m.summary.median * m.calls();
    sums.mean += m.mean * m.calls();
    sums.rank_mean += m.rank_mean * m.calls();
  }
  return sums;
}

double ratio(Seconds a, Seconds b) { return a > seconds(0) && b > seconds(0) ? a / b : 1.0; }

}  // namespace

SystemNoise system_noise(const std::vector<MeasuredPoint>& points, int ranks) {
  const Sums compute = sums_of(points, [](const MeasuredPoint& p) {
    const bool computes = p.is<timed::Gemm>() || p.is<timed::Kernel>();
    return computes && p.measurement.rank_mean > seconds(0);
  });
  const Sums collectives =
      sums_of(points, [](const MeasuredPoint& p) { return p.is<timed::CollectiveCall>(); });
  SystemNoise noise{.compute_ratio = ratio(compute.rank_mean, compute.median),
                    .collective_ratio = ratio(collectives.mean, collectives.median)};
  if (ranks > 1) {
    const double longer = ratio(compute.mean, compute.rank_mean) - 1.0;
    noise.time_jitter = std::clamp(longer / expected_maximum(ranks), 0.0, kMostJitter);
  }
  return noise;
}

std::vector<MeasuredPoint> with_system_noise(std::vector<MeasuredPoint> points,
                                             const SystemNoise& noise) {
  for (MeasuredPoint& p : points) {
    if (p.is<timed::StepPass>()) continue;  // long enough to hold its share of it
    const bool collective = p.is<timed::CollectiveCall>();
    const double longer = collective ? noise.collective_ratio : noise.compute_ratio;
    Summary& s = p.measurement.summary;
    for (Seconds* time : {&s.median, &s.min, &s.p10, &s.p90}) *time *= longer;
  }
  return points;
}

std::string system_noise_words(const SystemNoise& noise, int ranks) {
  const double compute = noise.compute_ratio - 1.0, collectives = noise.collective_ratio - 1.0;
  const double wait = expected_maximum(ranks) * noise.time_jitter;
  if (std::max({std::abs(compute), std::abs(collectives), wait}) < kWorthSaying) return "";
  std::string words = fmt::format(
      "system noise: mean kernel time is {:+.0f} % relative to the median, mean "
      "collective time {:+.0f} %. Ranks that synchronise in every layer wait {:.0f} "
      "% of their compute time for the slowest rank. Predicted times include this",
      100.0 * compute, 100.0 * collectives, 100.0 * wait);
  if (compute + wait >= kDisturbed) {
    words += ". Other processes are using this host; calibrate again when it is idle";
  }
  return words;
}

}  // namespace meshwright::calibrate
