// SPDX-License-Identifier: Apache-2.0
// One rank's part in `meshwright calibrate`: opens its backend, measures with the others; rank 0
// writes each point as it comes to FILE.partial.jsonl and the finished profile to FILE. What an
// earlier run of the same left in that journal is not measured again.
#pragma once

#include <string>

#include "calibrate/calibrator.h"
#include "calibrate/rank_place.h"

namespace meshwright::app {

struct CalibrationRun {
  std::string out;
  std::string backend;  // "cpu" with mpi, "cuda" with nccl
  std::string next;     // the command to name in the last line
  calibrate::CalibrationOptions options;
};

std::string partial_file(const std::string& out);

// Returns the exit code. An error on one rank ends all of them.
int run_calibration_rank(const CalibrationRun& run, const calibrate::RankPlace& place);

}  // namespace meshwright::app
