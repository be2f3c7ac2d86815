// SPDX-License-Identifier: Apache-2.0
// A review for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "app/runs/launched_run.h"
#include "interop/write_launch/launch_changes.h"
#include "planner/questions/review.h"
#include "reports/records/origin.h"

namespace meshwright::app {

struct ReviewedRun {
  LaunchedRun run;
  planner::Review review;
  // Of each better layout, in the launcher's words.
  std::vector<std::vector<interop::LaunchChange>> changes;
  std::string
      changed_launch;  // the launch of the fastest; empty: none is better, or cannot be said
};

std::string review_text(const ReviewedRun& reviewed);
Json review_json(const ReviewedRun& reviewed, const reports::Origin& origin);

}  // namespace meshwright::app
