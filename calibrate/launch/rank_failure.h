// SPDX-License-Identifier: Apache-2.0
// Which rank ended a job, where, and why: read from what mpirun prints on stderr (Open MPI 4 and 5)
// and from the line that one of our own ranks prints before it gives up.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/backends/rank_line.h"

namespace meshwright::calibrate {

struct RankFailure {
  int rank = -1;      // -1: mpirun did not say
  std::string host;   // empty: mpirun did not say
  std::string cause;  // a sentence without rank and host; empty: no failure was seen
};

// Reads stderr line by line. A rank's own message has priority over mpirun's, and the first rank's
// over those of ranks that failed because of it.
class RankFailureReader {
 public:
  void read_line(std::string_view line);
  [[nodiscard]] const RankFailure& failure() const { return failure_; }

 private:
  void read_rank_line(std::string_view line);
  void read_mpirun_line(std::string_view line);

  RankFailure failure_;
  bool from_rank_ = false;
  bool exit_code_follows_ = false;
};

}  // namespace meshwright::calibrate
