// SPDX-License-Identifier: Apache-2.0
// Fits the spreads of a calibration level on sets of measured runs, each predicted without the fits
// made on it. Also tests the resulting intervals on sets that were held out.
//
// A set is runs of one publication, software and kind of model. Its errors are e = ln(measured /
// predicted). Their median b is the shared error. Sets are few, so a new set's b lies within
// mean(b) -+ t s sqrt(1 + 1/n) with 90 % probability. t is the 95 % quantile of Student's
// distribution with n - 1 degrees, and s the standard deviation of b over n sets of equal weight.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/accuracy/measured_set.h"
#include "sim/step/step_interval.h"

namespace meshwright::planner {

// One set's runs under one condition.
struct SetErrors {
  std::string set;        // its row of the accuracy list
  std::string file;       // sets of one file are left out together
  std::string framework;  // framework with which the runs were predicted
  bool experts = false;
  IntervalRegime regime = IntervalRegime::known_chip;
  std::vector<double> errors;       // ln(measured / predicted)
  std::vector<double> parts;        // per run: sum of the terms' own spreads in quadrature
  std::vector<std::string> groups;  // of each run: layouts of one model on one cluster
};

// Predicts every run that has a measured time and a legal layout. `set` has one framework.
SetErrors set_errors(const MeasuredSet& set);

struct SetSpread {
  double bias = 0.0;  // median
  double own = 0.0;   // nine of ten errors lie within 1.645 times this of the median
  // The same of errors less their group's mean, times sqrt(n / (n - 1)) for a group of n. Nothing
  // where no group has two runs.
  std::optional<double> between_layouts;
};
SetSpread set_spread(const SetErrors& set);

// bias: mean of the sets'; shared: t s sqrt(1 + 1/n) / 1.645; own: a trimmed
// root mean square (statistics.h), since a set whose equal runs differ says nothing of others;
// between_layouts: own_prior() of the sets'. Sets of one run say nothing of their own spread and
// are left out. Nothing of fewer than two sets.
std::optional<RegimeSpread> regime_spread(const std::vector<SetErrors>& sets);

struct SetCoverage {
  std::size_t set = 0;  // index into the sets
  RegimeSpread spread;  // fitted without its file
  double inside = 0.0;  // share of its runs
  double width = 0.0;   // mean of ln(high / low)
};
// Each set of two runs and more judged by a spread of the others of its regime and kind.
std::vector<SetCoverage> left_out_coverage(const std::vector<SetErrors>& sets);

// Distribution of the machines' own spreads. ln(own^2) of a scaled inverse chi-squared distribution
// has variance trigamma(degrees / 2) and mean ln(scale^2 degrees / 2) - digamma(degrees / 2).
struct OwnPrior {
  double scale = 0.0, degrees = 0.0;
};
// Nothing of fewer than two spreads, or of equal ones.
std::optional<OwnPrior> own_prior(const std::vector<double>& own_spreads);

}  // namespace meshwright::planner
