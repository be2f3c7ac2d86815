// SPDX-License-Identifier: Apache-2.0
// Measured runs beside what a search would have picked for the same model, cluster and job, both at
// our own price: what a user who followed us instead of the team would expect to gain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/accuracy/measured_set.h"
#include "planner/search/search.h"
#include "sim/step/estimate.h"

namespace meshwright::planner {

struct Pick {
  std::size_t run = 0;               // index into MeasuredSet::runs
  std::optional<Violation> refused;  // the run's own layout; it has a price if only memory lacks
  std::optional<Estimate> theirs, ours;
  double claim = 0.0;          // step of theirs / step of ours - 1
  std::string cause;           // the switches that most of the claim comes from
  std::string term;            // the term of the step that shrinks most
  bool leaves_domain = false;  // our tensor ranks sit on several nodes
};

// One search a run.
std::vector<Pick> picks(const MeasuredSet& set, const SearchOptions& search);

}  // namespace meshwright::planner
