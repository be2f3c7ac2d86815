// SPDX-License-Identifier: Apache-2.0
// Whether "fastest with p %" is so: of the choices that were given p, how many were right; and
// whether the loss that a plan expects of its choice is the loss that was measured.
#pragma once

#include <vector>

#include "planner/accuracy/measured_set.h"

namespace meshwright::planner {

// One group of measured runs, ranked as a plan ranks layouts.
struct JudgedChoice {
  double probability = 0.0;  // 0 to 1: the layout predicted fastest is the fastest of the first ten
  bool was_fastest = false;  // measured
  double expected_loss = 0.0, real_loss = 0.0;  // shares of a step
};
struct JudgedPair {
  double probability = 0.0;  // 0 to 1: the layout predicted fastest is faster than this one
  bool was_faster = false;
};
struct JudgedChoices {
  std::vector<JudgedChoice> choices;
  std::vector<JudgedPair> pairs;
};

// For every group of at least two valid measured runs of one job, machine and software.
JudgedChoices judged_choices(const MeasuredSet& set);

struct ReliabilityBin {
  double from = 0.0, to = 1.0;  // probabilities, the upper end within the last bin only
  int count = 0;
  double mean_probability = 0.0;  // mean of the predicted probabilities, 0 to 1
  double frequency = 0.0;         // share of the cases in which it was, 0 to 1
};
struct Reliability {
  std::vector<ReliabilityBin> bins;
  int count = 0;
  double brier = 0.0;  // mean (p - outcome)^2: 0 is perfect, 0.25 a coin that says 50 %
};
struct Outcome01 {
  double probability = 0.0;
  bool happened = false;
};
Reliability reliability(const std::vector<Outcome01>& outcomes, int bins = 5);

}  // namespace meshwright::planner
