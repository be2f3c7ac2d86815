// SPDX-License-Identifier: Apache-2.0
// One rank's part in `meshwright calibrate`: opens its backend and measures with the others. Rank 0
// writes each point at once to FILE.partial.jsonl, and the finished profile to FILE. Points that an
// earlier run of the same calibration left in that journal are not measured again.
#pragma once

#include <string>

#include "calibrate/calibrator.h"
#include "calibrate/launch/rank_place.h"
#include "reports/records/origin.h"

namespace meshwright::app {

struct CalibrationRun {
  std::string out;
  std::string backend;                 // "cpu" with mpi, "cuda" with nccl
  Seconds rank_timeout = seconds(30);  // without progress
  std::string next;                    // the command to name in the last line, quoted
  reports::Origin origin{};
  calibrate::CalibrationOptions options;
  std::string check{};      // the profile to check, instead of making one
  double max_drift = 0.15;  // relative
};

// Exit codes of a rank whose check found drift, and of one whose calibration dropped points. They
// are not 1, because mpirun itself may exit with 1.
inline constexpr int kRankSawDrift = 10, kRankDroppedPoints = 11;

std::string partial_file(const std::string& out);

// Returns the exit code; drift and dropped points are kGateFailed, or the codes above where `ours`
// started the ranks. An error on one rank ends all of them.
int run_calibration_rank(const CalibrationRun& run, const calibrate::RankPlace& place, bool ours);

}  // namespace meshwright::app
