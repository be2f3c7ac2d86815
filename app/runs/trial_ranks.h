// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of `meshwright trial`, of layouts and of deployments alike.
#pragma once

#include <string>

#include "app/console/call.h"
#include "app/options/rank_options.h"

namespace meshwright::app {

struct TrialRanks {
  int largest = 1;             // ranks that the largest of them needs
  double time_limit = 0;       // of all, in seconds
  std::string out;             // written after each of them
  std::string what_was_tried;  // "layout"
};
// Starts the ranks that were asked for, else one per device, at most what the largest needs.
// Returns the exit code; throws SystemError if the ranks fail, and says whether results of this
// call are in `out`.
int start_trial_ranks(const RankOptions& options, const TrialRanks& trial, const Call& call);

}  // namespace meshwright::app
