// SPDX-License-Identifier: Apache-2.0
// Why one layout is faster than another: the difference of their steps, term by term, each with the
// sizes that it comes from.
#pragma once

#include <string>
#include <vector>

#include "planner/questions/confidence.h"
#include "planner/questions/crossover.h"

namespace meshwright::planner {

struct TermDifference {
  TermKind kind = TermKind::forward_compute;
  Seconds layout, versus;
  std::string
      sizes;  // "tp 8 against 32, mbs 1 against 2": those that the term depends on and differ
  [[nodiscard]] Seconds difference() const { return layout - versus; }
};

struct Explanation {
  Estimate layout, versus;
  std::vector<TermDifference> terms;  // terms that either has, largest difference first
  double probability_faster = 0.5;    // that `layout` is the faster one
  std::vector<Crossover> overtakes;   // where the slower of the two becomes the faster one
};

// Both layouts run. `plan` gives model, cluster and job.
Explanation explanation(const Plan& plan, const SearchOptions& search, const Estimate& layout,
                        const Estimate& versus);

// One sentence a line: times, what it loses and where, what it gains, how sure that is, what would
// turn it round. `versus_name` is "rank 1" or the like.
std::string explanation_text(const Explanation& explanation, const std::string& versus_name);

}  // namespace meshwright::planner
