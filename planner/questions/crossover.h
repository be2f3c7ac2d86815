// SPDX-License-Identifier: Apache-2.0
// Where the answer flips: the value of an input below or above which another layout is the best.
//
// Method: the winner among the contenders is computed on a grid of factors from 1/4 to 4 of the
// current value (shares of a peak up to 1), away from 1 on both sides. At the first change of the
// winner, bisection in the logarithm finds the factor. Memory needs no grid: the memory of each
// layout gives the place where it begins to fit. If the time allows, a new search evaluates every
// layout on both sides of the place. Its results join the contenders until both agree; such a
// crossover is `exact`.
#pragma once

#include <vector>

#include "planner/questions/what_if_parameter.h"
#include "planner/search/contenders.h"

namespace meshwright::planner {

struct Crossover {
  WhatIfParameter parameter = WhatIfParameter::gemm_efficiency;
  bool below = true;        // the other layout wins below `at`, else above it
  double factor = 1.0;      // at / today's value
  double at = 0.0;          // in the parameter's unit
  double today = 0.0;       // current value, in the input's unit
  Layout layout;            // the best beyond
  double end_value = 0;     // the end of the range that was looked at
  Layout end_layout;        // the best there
  double gain_at_end = 0;   // share of today's winner's step that the best saves there
  bool winner_fits = true;  // there: today's winner still runs
  bool exact = false;       // a search of the whole space on both sides agrees
};

struct CrossoverOptions {
  double lowest_factor = 0.25, highest_factor = 4.0;  // range of the search, x current value
  int steps = 4;  // grid points on each side of the current value
  // Layouts that the searches which confirm crossovers may look at in total; 0: only the contenders
  // are compared, whatever is turned.
  std::int64_t affordable_layouts = 1'500'000;
  // Flips that save less than this share of a step anywhere in the range are left out.
  double gain_that_matters = 0.005;
};

// Nearest to today's value first. Empty when the plan has no winner.
std::vector<Crossover> crossovers(const Plan& plan, const SearchOptions& search,
                                  const std::vector<Layout>& contenders,
                                  const CrossoverOptions& options = {});

}  // namespace meshwright::planner
