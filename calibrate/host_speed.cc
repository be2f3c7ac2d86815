// SPDX-License-Identifier: Apache-2.0
#include "calibrate/host_speed.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "calibrate/bench/point_bench.h"
#include "calibrate/profile/system_noise.h"

namespace meshwright::calibrate {
namespace {

constexpr std::size_t kProducts = 6, kKernels = 3;
constexpr Seconds kShortest = milliseconds(0.1), kLongest = milliseconds(20);
// Never reached, so measuring uses all its time: a disturbance is seen by its share of it.
constexpr double kNeverSteady = 1e-6;
constexpr int kManySamples = 10'000;
constexpr double kSecondsEach = 0.12;

bool says_something(const MeasuredPoint& p) {
  return can_be_timed(p) && !p.measurement.noisy && p.time() >= kShortest && p.time() <= kLongest;
}

// `count` of kind T, as far apart in the list as they can be.
template <typename T>
void add_spread(std::vector<MeasuredPoint>& sample, const std::vector<MeasuredPoint>& points,
                std::size_t count) {
  std::vector<const MeasuredPoint*> all;
  for (const MeasuredPoint& p : points) {
    if (p.is<T>() && says_something(p)) all.push_back(&p);
  }
  const std::size_t taken = std::min(count, all.size());
  for (std::size_t i = 0; i < taken; ++i) sample.push_back(*all[i * all.size() / taken]);
}

}  // namespace

std::vector<MeasuredPoint> speed_sample(const std::vector<MeasuredPoint>& points) {
  std::vector<MeasuredPoint> sample;
  add_spread<timed::Gemm>(sample, points, kProducts);
  add_spread<timed::Kernel>(sample, points, kKernels);
  return sample;
}

HostSpeed::HostSpeed(const std::vector<MeasuredPoint>& points, Compute& compute,
                     Communicator& world)
    : sample_(with_system_noise(speed_sample(points), system_noise(points, world.size()))),
      options_{.stop = {.target_error = kNeverSteady,
                        .max_seconds = kSecondsEach,
                        .max_samples = kManySamples}},
      measurer_(compute, world, options_, no_groups_),
      rank_times_(std::vector<std::string>(static_cast<std::size_t>(world.size())),
                  std::vector<int>(static_cast<std::size_t>(world.size()))) {}

std::optional<double> HostSpeed::time_ratio() {
  double sum = 0.0;
  int timed = 0;
  for (const MeasuredPoint& then : sample_) {
    const auto result = measurer_.measured(then, {kSecondsEach, kNeverSteady}, rank_times_);
    const auto* now = std::get_if<MeasuredPoint>(&result);
    if (now == nullptr) continue;
    sum += std::log(now->measurement.rank_mean / then.time());
    ++timed;
  }
  if (timed == 0) return std::nullopt;
  return std::exp(sum / timed);
}

}  // namespace meshwright::calibrate
