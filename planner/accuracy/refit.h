// SPDX-License-Identifier: Apache-2.0
// Learns a framework's scalars (sim/hardware/framework.h), six at most at a time, from measured
// steps.
//
// Minimises sum huber(log(predicted / measured) / s) + prior, over the logarithms of the scalars,
// by Levenberg-Marquardt with numeric derivatives. The prior keeps a scalar that the data say
// nothing about where it was. The framework's spread is the larger of the robust
// residual spread and what makes nine of ten runs lie inside their 90 % intervals. Standard errors
// from the inverse of the information matrix.
#pragma once

#include <vector>

#include "planner/accuracy/backtest.h"
#include "planner/questions/framework_scalars.h"
#include "sim/hardware/framework.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

struct FittedScalar {
  FrameworkScalar scalar = FrameworkScalar::gemm_time_factor;
  double before = 0;  // factor, or seconds
  double after = 0;
  double relative_standard_error = 0;  // standard error of `after`, relative to it
  double learnt = 0;  // share of the prior's variance that the data took away; 0: they said nothing
};

struct Refit {
  Framework framework;  // of the set's first run, with the fitted scalars
  std::vector<FittedScalar> scalars;
  int runs = 0;  // number of runs that the fit used
  double residual_spread =
      0;  // robust standard deviation of log(predicted / measured) after the fit
};

// Uses runs with a measured step time whose layout is legal. Throws InputError when there are none.
// Fewer runs than scalars are welcome: the prior keeps what they cannot settle.
Refit refit(const MeasuredSet& set, const std::vector<FrameworkScalar>& scalars,
            const RefitPrior& prior = {});

// A step that somebody made or may make: a layout of a model on a cluster for a job. It refers to
// the set or plan that it is of.
struct PlacedLayout {
  const Scenario& scenario;
  const Layout& layout;
};

// The runs of a set that refit() uses: with a time, and a layout that is legal. Indices into its
// runs; and those as steps.
std::vector<std::size_t> usable_runs(const MeasuredSet& set);
std::vector<PlacedLayout> layouts_of(const MeasuredSet& set, const std::vector<std::size_t>& runs);

// ln step of each layout under a framework, and its derivatives to the logarithms of the scalars,
// by central difference.
struct LogSteps {
  std::vector<double> steps;
  std::vector<std::vector<double>> derivatives;
};
LogSteps log_steps(const std::vector<PlacedLayout>& layouts,
                   const std::vector<FrameworkScalar>& scalars, const Framework& framework);

// Every run under its own software with scalars that were fitted on the runs of other groups only:
// groups are dealt, in order of first appearance, into `folds` parts, and each part is judged by a
// fit on the others.
// Throws InputError when there are fewer groups than parts, or less than two parts.
MeasuredSet fitted_on_other_groups(MeasuredSet set, const std::vector<FrameworkScalar>& scalars,
                                   int folds, const RefitPrior& prior = {});

}  // namespace meshwright::planner
