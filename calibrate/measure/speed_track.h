// SPDX-License-Identifier: Apache-2.0
// How fast a host was while something else was measured: a reference is timed again and again, and
// its times say by how much a point's own time has to be divided.
#pragma once

#include <cstddef>
#include <vector>

namespace meshwright::calibrate {

class SpeedTrack {
 public:
  // `time`: seconds of a clock, never less than before; `reference`: seconds that the reference
  // took, above 0.
  void add(double time, double reference);
  [[nodiscard]] bool empty() const { return looks_.empty(); }
  [[nodiscard]] std::size_t count() const { return looks_.size(); }
  // The reference's time at `time` over its median: linear between two looks, the nearest look's
  // outside, 1 without any. A look counts as the median of itself and its two neighbours.
  [[nodiscard]] double slowdown_at(double time) const;
  [[nodiscard]] double least() const;
  [[nodiscard]] double most() const;

 private:
  struct Look {
    double time, reference;
  };
  [[nodiscard]] double median_reference() const;
  [[nodiscard]] double reference_of(std::size_t look) const;
  std::vector<Look> looks_;
};

}  // namespace meshwright::calibrate
