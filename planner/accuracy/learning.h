// SPDX-License-Identifier: Apache-2.0
// Value of a few calibration runs of a machine for its other runs, and the choice of the most
// informative.
//
// Maximum a posteriori: the framework's scalars (refit.h) start where its file has them, with the
// regime's spread as the width of the factors' prior. In logarithms a step is then a linear
// function of the scalars, with variance g' S g + own^2: g its derivatives, S = (P + sum g_i g_i' /
// own^2)^-1 their covariance after the runs, P the prior's. own^2 = (d s^2 + sum of r_i^2 /
// (1 - h_i)) / (d + runs), s and d the prior of own spreads (regime_fit.h), r_i what the fit leaves
// of a run and h_i its leverage: the fit follows a run, so that its residual is too small.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/accuracy/measured_set.h"
#include "planner/accuracy/refit.h"
#include "planner/search/plan.h"
#include "sim/step/step_interval.h"

namespace meshwright::planner {

struct Learning {
  Refit refit;
  double own = 0.0;      // one standard deviation of a run, as the runs showed it
  double degrees = 0.0;  // degrees of freedom of the Student distribution of a new run's error
  // Equivalent normal standard deviation of a candidate's step, averaged over the candidates: t
  // sqrt(mean g' S g + own^2) / 1.645.
  double relative_spread = 0.0;
};

// Prior of a machine's scalars: the spread shared by the sets of its level, and the spread of its
// runs around their prediction.
RefitPrior learning_prior(const RegimeSpread& regime, double own);

// The own spread of a machine of which no run is known, as a normal's: t(0.95, degrees) scale /
// 1.645. With less a fit would follow runs that are odd of themselves, and their mean would
// mislead.
double unseen_own(double scale, double degrees);

// own^2 after some residuals (logarithms), from the prior's scale s and degrees d.
double posterior_own(const std::vector<double>& residuals, double scale, double degrees);

// h_i = g_i' S g_i / own^2 of each run of a fit, from 0 (the prior decides) to below 1 (the run
// does): a residual has the variance own^2 (1 - h_i) (Hoaglin and Welsch 1978, "The hat matrix in
// regression and ANOVA").
std::vector<double> leverages_of(const std::vector<std::vector<double>>& derivatives,
                                 const std::vector<double>& prior_deviations, double own);

// Learns from all runs of `runs`; `candidates`: those that will be predicted.
// Throws InputError when no run has a time and a legal layout.
Learning learn(const MeasuredSet& runs, const std::vector<FrameworkScalar>& scalars,
               const MeasuredSet& candidates);

// The cluster as it is known then: regime profiled_machine, with what the runs left open.
Cluster with_learnt(Cluster cluster, const Learning& learning);

// Candidate layout, and the sensitivity of its time to the scalars (below).
struct CandidateStep {
  double seconds = 0.0;             // predicted
  std::vector<double> derivatives;  // derivative of ln(step) by the logarithm of each scalar
  int group = 0;                    // candidates of one group are alternatives
};
// Greedily `count` of the candidates: each time the one whose run takes away most of the weighted
// variance for what it costs. Its own variance goes whole; of the others' what the scalars share
// with it: (g_j' S g_i)^2 / (g_i' S g_i + own^2). Weight: 2 Phi(-gap / (sqrt(2) deviation)) of the
// fastest's group lead: 1 for the fastest, less for what can hardly win. Cost: 1 + step / median
// step, a start that takes as long as the median run.
std::vector<std::size_t> most_telling(const std::vector<CandidateStep>& candidates,
                                      const std::vector<double>& prior_deviations, double own,
                                      int count);

// The same of measured runs, whose times are not looked at. Indices into set.runs.
std::vector<std::size_t> runs_to_make(const MeasuredSet& set,
                                      const std::vector<FrameworkScalar>& scalars, int count);
// Indices into plan.ranked, chosen before any layout has run.
std::vector<std::size_t> runs_to_make(const Plan& plan, int count);

}  // namespace meshwright::planner
