// SPDX-License-Identifier: Apache-2.0
// Compute's marks as events of the rank's stream. Events are kept and used again.
#pragma once

#include <cstddef>
#include <deque>

#include "calibrate/backends/cuda/event.h"

namespace meshwright::calibrate::cuda {

class Marks {
 public:
  std::size_t mark() {
    if (used_ == events_.size()) events_.emplace_back();
    events_[used_].record();
    return used_++;
  }
  [[nodiscard]] double seconds_between(std::size_t from, std::size_t to) const {
    return 1e-3 * static_cast<double>(events_[to].milliseconds_since(events_[from]));
  }
  void forget() { used_ = 0; }

 private:
  std::deque<Event> events_;
  std::size_t used_ = 0;
};

}  // namespace meshwright::calibrate::cuda
