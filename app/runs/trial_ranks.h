// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of `meshwright trial`, of layouts and of deployments alike.
#pragma once

#include <string>

#include "app/console/call.h"
#include "app/options/rank_options.h"

namespace meshwright::app {

struct TrialRanks {
  int largest = 1;             // ranks that the largest layout or deployment needs
  double time_limit = 0;       // of all of them, in seconds
  std::string out;             // written after each of them
  std::string what_was_tried;  // "layout", "deployment"
};
// Starts the ranks that were asked for, else one per device, at most `largest`. Returns the exit
// code. Throws SystemError if the ranks fail; its hint tells what of this call is in `out`.
int start_trial_ranks(const RankOptions& options, const TrialRanks& trial, const Call& call);

}  // namespace meshwright::app
