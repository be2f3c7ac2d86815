// SPDX-License-Identifier: Apache-2.0
// Judges from the ranks' reports whether a job still moves, and if not, whose fault that is.
//
// A job is stuck when a rank has not been heard of for the timeout; when a rank has been longer
// than that in one operation of its own (longer by what the operation may take on a slow machine);
// or when all ranks have been waiting that long for each other. A rank that waits for one that
// works is not stuck, however long it waits.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "calibrate/launch/rank_failure.h"
#include "calibrate/launch/rank_report.h"
#include "sim/base/units.h"

namespace meshwright::calibrate {

class RankWatch {
 public:
  // `now` here and below: seconds of one clock.
  RankWatch(int ranks, Seconds timeout, double now);

  // Tells whether the line was a report.
  bool read_line(std::string_view line, double now);
  // The rank at fault, once the job is stuck.
  [[nodiscard]] std::optional<RankFailure> stuck(double now) const;

 private:
  struct Rank {
    RankReport report;
    double heard = 0.0, moved = 0.0;  // when
  };
  [[nodiscard]] bool is_silent(const Rank& rank, double now) const;
  [[nodiscard]] bool has_not_moved(const Rank& rank, double now) const;
  [[nodiscard]] const Rank* rank_at_fault(double now) const;
  [[nodiscard]] std::string who_waits() const;

  std::vector<Rank> ranks_;
  double timeout_;
};

}  // namespace meshwright::calibrate
