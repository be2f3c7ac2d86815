// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/speed_track.h"

#include <algorithm>

#include "sim/base/statistics.h"

namespace meshwright::calibrate {

void SpeedTrack::add(double time, double reference) { looks_.push_back({time, reference}); }

double SpeedTrack::median_reference() const {
  std::vector<double> references;
  for (const Look& look : looks_) references.push_back(look.reference);
  return median(std::move(references));
}

double SpeedTrack::reference_of(std::size_t look) const {
  if (look == 0 || look + 1 == looks_.size()) return looks_[look].reference;
  return median({looks_[look - 1].reference, looks_[look].reference, looks_[look + 1].reference});
}

double SpeedTrack::slowdown_at(double time) const {
  if (looks_.empty()) return 1.0;
  std::size_t after = 0;
  while (after < looks_.size() && looks_[after].time < time) ++after;
  if (after == 0) return reference_of(0) / median_reference();
  if (after == looks_.size()) return reference_of(after - 1) / median_reference();
  const double way =
      (time - looks_[after - 1].time) / (looks_[after].time - looks_[after - 1].time);
  const double before = reference_of(after - 1);
  return (before + way * (reference_of(after) - before)) / median_reference();
}

double SpeedTrack::least() const {
  double least = looks_.empty() ? 1.0 : slowdown_at(looks_.front().time);
  for (const Look& look : looks_) least = std::min(least, look.reference / median_reference());
  return least;
}

double SpeedTrack::most() const {
  double most = looks_.empty() ? 1.0 : slowdown_at(looks_.front().time);
  for (const Look& look : looks_) most = std::max(most, look.reference / median_reference());
  return most;
}

}  // namespace meshwright::calibrate
