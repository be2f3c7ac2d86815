// SPDX-License-Identifier: Apache-2.0
// Certainty of the ranking: the probability that the winner is faster than each runner-up, and the
// runs that would decide it.
//
// Method: linear error propagation. A layout's step is T + sum_i g_i z_i + sum_k r_k T_k e_k, with
// independent standard normals z_i and e_k.
// - g_i: change of the step by one standard deviation of input i, as a central difference. Each
// input
//   is changed for all layouts together, so shared changes cancel.
// - e_k: error of term k's formula. Layouts that run the same shapes in a term share it.
// - shared_variance() splits the variance that the records state between the two.
//
// P(winner faster) = Phi(difference / deviation of the difference). The probability that the winner
// is the fastest of all uses the same normals on a fixed lattice. The spread of a layout's own
// error differs between machines, so all results are means over seven equally likely spreads
// (step_interval.h, between_layouts).
#pragma once

#include <string>
#include <vector>

#include "planner/questions/what_if_parameter.h"
#include "planner/search/contenders.h"

namespace meshwright::planner {

struct AgainstRunnerUp {
  std::size_t rank = 0;                       // index into Plan::ranked
  double probability_winner_is_faster = 0.5;  // 0 to 1
  Seconds difference;                         // runner-up - winner
  Seconds deviation;                          // one standard deviation of the difference
  double correlation = 0;                     // correlation of the two layouts' errors, -1 to 1
  // Expected saving by trying the runner-up and keeping the better: E[max(0, winner - runner-up)].
  Seconds expected_gain;
  // Runs of each of the two that tell them apart, were the difference as predicted; 0: their
  // difference is too small to matter.
  int runs_to_settle = 0;
};

struct ProposedRun {
  std::size_t rank = 0;  // index into Plan::ranked
  int runs = 1;          // runs of this layout to make
  std::string reason;
};

struct Confidence {
  double probability_best = 1.0;    // probability that the winner is the fastest contender, 0 to 1
  double expected_regret = 0.0;     // share of a step that choosing it loses on average
  double relative_deviation = 0.0;  // one standard deviation of the winner's step, relative to it
  std::vector<AgainstRunnerUp> against;
  std::vector<ProposedRun> proposed_runs;  // empty: no run would change the choice
};

struct ConfidenceOptions {
  int runner_ups = 9;  // layouts that are compared with the winner
  // Runner-ups after the last that beats the winner with this probability are not compared.
  double could_win = 0.0;
  // Two runs of the same layout differ by this (one standard deviation).
  double run_spread = 0.01;
  double settled = 0.95;             // probability at which a question counts as answered
  double gain_that_matters = 0.005;  // share of a step
  int most_runs = 10;                // most trial runs of one layout
};

// The share of a record's variance that all layouts have in common: the input's own error. The rest
// is the formula's, and belongs to a shape. Assumed: half where points stand behind the spread
// (measured or fitted: it is what remains between them), 9/10 where nobody measured.
double shared_variance(Provenance provenance);

// A runner-up that is faster than the winner with this probability or more ties with it.
inline constexpr double kTies = 0.25;

// "Open. Layout #1 is the fastest of 20 contenders with 48 % probability. Choosing it costs 7.1 %
// of a step on average. Layouts #3 and #4 tie with it: each is faster with 25 % probability or
// more." Settled: the loss is below gain_that_matters. Empty where nothing was compared.
std::string sentence_of(const Confidence& confidence, const ConfidenceOptions& options = {});

Confidence confidence(const Plan& plan, const ConfidenceOptions& options = {});

}  // namespace meshwright::planner
