// SPDX-License-Identifier: Apache-2.0
// One rank's part in `meshwright trial`: runs each layout with the others; rank 0 writes the file
// ("meshwright.trials/1") after each of them, so that a run that dies leaves what it had.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/launch/rank_place.h"
#include "calibrate/profile/profile.h"
#include "calibrate/trial/trial.h"
#include "reports/records/origin.h"
#include "sim/base/job.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright::app {

struct TrialRun {
  std::string plan;        // the file's name
  reports::Origin origin;  // of the trials: the command, and the plan's fingerprint
  std::string out;
  std::string trace;                   // empty: none is written
  std::string backend;                 // "cpu" with mpi, "cuda" with nccl
  Seconds rank_timeout = seconds(30);  // without progress
  Model model;
  Job job;
  std::vector<Layout> layouts;  // the plan's top picks
  calibrate::TrialOptions options;
  std::optional<calibrate::Profile> profile;  // the plan's; none: the host is not looked at
};

// Returns the exit code. An error on one rank ends all of them.
int run_trial_rank(const TrialRun& run, const calibrate::RankPlace& place);

}  // namespace meshwright::app
