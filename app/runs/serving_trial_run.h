// SPDX-License-Identifier: Apache-2.0
// One rank's part in `meshwright trial` of a service's plan: runs each deployment with the others;
// rank 0 writes the file ("meshwright.serve_trials/1") after each of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/launch/rank_place.h"
#include "calibrate/profile/profile.h"
#include "calibrate/trial/serving/serving_trial.h"
#include "planner/serving/deployment.h"
#include "reports/records/origin.h"

namespace meshwright::app {

struct ServingTrialRun {
  std::string plan;        // the file's name
  reports::Origin origin;  // of the trials: the command, and the plan's fingerprint
  std::string out;
  std::string backend;                 // "cpu" with mpi, "cuda" with nccl
  Seconds rank_timeout = seconds(30);  // without progress
  ServingScenario scenario;            // options: each deployment has its own
  ServingLoad load;
  std::vector<planner::Deployment> deployments;  // the plan's top picks
  calibrate::ServingTrialOptions options;
  std::optional<calibrate::Profile> profile{};  // the plan's; none: the host is not looked at
};

// Returns the exit code. An error on one rank ends all of them.
int run_serving_trial_rank(const ServingTrialRun& run, const calibrate::RankPlace& place);

}  // namespace meshwright::app
