// SPDX-License-Identifier: Apache-2.0
// What results of an engine on one machine say of its other services on that machine: one factor of
// every step's time, and the spread that is left.
//
// In logarithms a measured configuration is r_i = g_i b + e_i above its prediction: b the factor's
// logarithm with prior variance T^2 rho (the regime's level), e_i what a configuration is off by
// itself, T^2 (1 - rho), g_i how its quantity follows the factor. T: the spread that predictions of
// these configurations have; rho: kServingLevelShare. The estimate is b = sum(g_i r_i) / own^2 /
// (1 / level^2 + sum(g_i^2) / own^2): of n configurations with g = 1 that are r off, n r / (n +
// own^2 / level^2). own^2 follows from what the fit leaves, as learning.h says. Repeats of one
// configuration are one: they share its e_i.
#pragma once

#include <string>
#include <vector>

#include "planner/serving/serving_backtest.h"

namespace meshwright::planner {

// A configuration that was measured, and what the factor made of its prediction.
struct ServingEvidence {
  std::string id{};  // of its first result
  int results = 1;   // that repeat it
  ServingQuantity quantity = ServingQuantity::tpot_mean;
  double measured = 0, predicted = 0, corrected = 0;
};

struct ServingLearning {
  double factor = 1.0;                         // of every step's time
  double factor_low = 1.0, factor_high = 1.0;  // 90 % interval
  double spread_before = 0, spread = 0;        // of a step's time, relative standard deviations
  double repeat_spread = 0;                    // of the results of one configuration
  int configurations = 0, results = 0;
  std::vector<ServingEvidence> evidence{};
  std::vector<UnreadService> left_out{};
};

// One configuration of a fit: logarithms of measured over predicted, and the derivative of the
// predicted by the factor, both of a time.
struct FactorResidual {
  double residual = 0, slope = 1;
};
// b with its prior's and the configurations' standard deviations.
double posterior_factor(const std::vector<FactorResidual>& residuals, double level, double own);
// Its variance.
double posterior_variance(const std::vector<FactorResidual>& residuals, double level, double own);

// All points are of one engine on one machine. Throws InputError when no point tells the speed of
// a step, and when the factor is so far from 1 that another service must have been measured.
ServingLearning learn_service(const MeasuredServices& set);

// The engine as it is known then.
Engine with_learnt(const Engine& engine, const ServingLearning& learning);

}  // namespace meshwright::planner
