// SPDX-License-Identifier: Apache-2.0
// A tornado: how the winner's step time answers when one input is turned down and up by its own
// standard deviation while all others stay, and whether another layout would then be faster.
//
// Records state one standard deviation s of an input's logarithm: the factors are exp(-s) and
// min(exp(s), largest_factor()), so that no input is turned beyond what physics admits.
#pragma once

#include <vector>

#include "planner/questions/what_if_parameter.h"
#include "planner/search/contenders.h"

namespace meshwright::planner {

// The winner, and the best of the contenders, when the parameter is multiplied by `factor`.
struct Perturbed {
  double factor = 1.0;  // on the input's current value
  double value = 0.0;   // in the parameter's unit
  Seconds step_time;    // step of the base winner
  Layout best;          // the winner there
  Seconds best_step_time;
};

struct Sensitivity {
  WhatIfParameter parameter = WhatIfParameter::gemm_efficiency;
  double value = 0.0;            // current value, in the parameter's unit
  double relative_spread = 0.0;  // one standard deviation, as its record states it
  Provenance provenance = Provenance::measured;
  Perturbed low, high;
  bool capped = false;  // high stands at the physical limit, nearer than one standard deviation
  [[nodiscard]] bool winner_changes(const Layout& winner) const;
  // Seconds between the winner's step at low and at high.
  [[nodiscard]] Seconds swing() const;
};

// One entry a parameter that changes the winner's time, largest swing first. Empty when the plan
// has no winner.
std::vector<Sensitivity> sensitivity(const Plan& plan, const std::vector<Layout>& contenders,
                                     double memory_headroom);

}  // namespace meshwright::planner
