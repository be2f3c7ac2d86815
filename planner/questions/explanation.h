// SPDX-License-Identifier: Apache-2.0
// Why one layout is faster than another: the difference of their steps, switch by switch and term
// by term.
#pragma once

#include <string>
#include <vector>

#include "planner/questions/attribution.h"
#include "planner/questions/confidence.h"
#include "planner/questions/crossover.h"

namespace meshwright::planner {

struct TermDifference {
  TermKind kind = TermKind::forward_compute;
  Seconds layout, versus;
  std::string causes;  // "tp_comm_overlap on against off (-0.51 s)": the switches that move it
  [[nodiscard]] Seconds difference() const { return layout - versus; }
};

struct Explanation {
  Estimate layout, versus;
  std::vector<TermDifference> terms;  // terms that either has, largest difference first
  std::vector<SwitchEffect> effects;  // effect of each switch that differs, largest first
  double probability_faster = 0.5;    // probability that `layout` is the faster one, 0 to 1
  std::vector<Crossover>
      overtakes;  // inputs from whose values on the slower layout becomes the faster one
};

// Both layouts run. `plan` gives model, cluster and job.
Explanation explanation(const Plan& plan, const SearchOptions& search, const Estimate& layout,
                        const Estimate& versus);

// "tp 8 against 16, pp 16 against 8: 0.9 s less (...)", a line a switch.
std::string effects_text(const std::vector<SwitchEffect>& effects, Seconds step_time);

// One sentence a line: times, which switch makes how much of the difference, what it loses and
// where, how sure that is, what would turn it round. `versus_name` is "rank 1" or the like.
std::string explanation_text(const Explanation& explanation, const std::string& versus_name);

}  // namespace meshwright::planner
