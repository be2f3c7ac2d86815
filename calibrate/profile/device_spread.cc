// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/device_spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/statistics.h"
#include "sim/kernel_time/slowest.h"

namespace meshwright::calibrate {
namespace {

constexpr std::size_t kFewest = 3;

const MeasuredPoint* find(const Profile& profile, const MeasuredPoint& like) {
  const auto found = std::find_if(profile.points.begin(), profile.points.end(),
                                  [&](const MeasuredPoint& p) { return same_subject(p, like); });
  return found == profile.points.end() ? nullptr : &*found;
}

// log of the median device's time in each profile, over the mean of all profiles: of the products
// that all have, on average.
std::vector<double> levels(const std::vector<Profile>& profiles) {
  std::vector<double> sums(profiles.size(), 0.0);
  int shapes = 0;
  for (const MeasuredPoint& p : profiles.front().points) {
    if (!p.is<timed::Gemm>()) continue;
    std::vector<double> logs;
    for (const Profile& profile : profiles) {
      if (const MeasuredPoint* same = find(profile, p)) {
        logs.push_back(std::log(same->time().value()));
      }
    }
    if (logs.size() != profiles.size()) continue;
    ++shapes;
    for (std::size_t i = 0; i < logs.size(); ++i) sums[i] += logs[i];
  }
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    double slowest = 1.0;
    for (const RankSpeed& rank : profiles[i].ranks) slowest = std::max(slowest, rank.gemm);
    sums[i] = (shapes > 0 ? sums[i] / shapes : 0.0) - std::log(slowest);
  }
  const double middle = mean(sums);
  for (double& level : sums) level -= middle;
  return sums;
}

}  // namespace

std::string DeviceSpread::sentence() const {
  const auto slower = [&](int n) { return 100.0 * expected_maximum(n) * sigma; };
  const auto n = static_cast<int>(relative_times.size());
  return fmt::format(
      "{} devices differ by {:.1f} % (one standard deviation of their products' times): the "
      "slowest "
      "of 8 takes {:.1f} % longer than the average one, of {} {:.1f} %, of 1024 {:.1f} %; the "
      "slowest here is {}, {:.1f} % longer",
      n, 100.0 * sigma, slower(8), n, slower(n), slower(1024), slowest,
      100.0 * (slowest_time - 1.0));
}

std::optional<DeviceSpread> spread_between_devices(const std::vector<Profile>& profiles) {
  const std::vector<double> level = levels(profiles);
  DeviceSpread spread;
  std::vector<double> logs;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    for (const RankSpeed& rank : profiles[i].ranks) {
      if (rank.gemm <= 0.0) continue;
      const double time = rank.gemm * std::exp(level[i]);
      spread.relative_times.push_back(time);
      logs.push_back(std::log(time));
      if (spread.relative_times.size() > 1 && time <= spread.slowest_time) continue;
      spread.slowest_time = time;
      spread.slowest = fmt::format("number {} on {}", rank.local_rank, rank.host);
    }
  }
  if (logs.size() < kFewest) return std::nullopt;
  spread.sigma = standard_deviation(logs);
  return spread;
}

}  // namespace meshwright::calibrate
