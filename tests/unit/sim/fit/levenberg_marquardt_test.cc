// SPDX-License-Identifier: Apache-2.0
#include "sim/fit/levenberg_marquardt.h"

#include <gtest/gtest.h>

#include <cmath>

namespace meshwright {
namespace {

// Residuals p - y_i of the mean of some numbers.
LeastSquaresProblem mean_of(const std::vector<double>& numbers, double start) {
  LeastSquaresProblem problem;
  problem.start = {start};
  problem.residuals = [numbers](std::span<const double> p) {
    std::vector<double> residuals;
    for (const double y : numbers) residuals.push_back(p[0] - y);
    return residuals;
  };
  return problem;
}

// Four numbers of variance 1: their mean has variance 1/4.
TEST(LevenbergMarquardt, FindsTheMeanAndItsVariance) {
  const auto found = levenberg_marquardt(mean_of({1, 2, 3, 6}, 0));
  EXPECT_TRUE(found.converged);
  EXPECT_NEAR(found.parameters[0], 3.0, 1e-9);
  EXPECT_NEAR(found.variances[0], 0.25, 1e-9);
  EXPECT_NEAR(found.residuals[3], -3.0, 1e-9);
}

// A curved valley with its end at (1, 1): Rosenbrock's function as residuals 10 (y - x^2), 1 - x.
TEST(LevenbergMarquardt, FollowsACurvedValley) {
  LeastSquaresProblem problem;
  problem.start = {-1.2, 1.0};
  problem.residuals = [](std::span<const double> p) {
    return std::vector<double>{10.0 * (p[1] - p[0] * p[0]), 1.0 - p[0]};
  };
  const auto found = levenberg_marquardt(problem);
  EXPECT_NEAR(found.parameters[0], 1.0, 1e-6);
  EXPECT_NEAR(found.parameters[1], 1.0, 1e-6);
}

// Two numbers at 3 and a prior of weight 2 at 0: (2 * 3 + 2 * 0) / 4 = 1.5, variance 1 / (2 + 2).
TEST(LevenbergMarquardt, APriorPullsTowardsTheStart) {
  LeastSquaresProblem problem = mean_of({3, 3}, 0);
  problem.prior_weights = {2.0};
  const auto found = levenberg_marquardt(problem);
  EXPECT_NEAR(found.parameters[0], 1.5, 1e-9);
  EXPECT_NEAR(found.variances[0], 0.25, 1e-9);
}

// 0, 0 and 10 with bound 1: the far number pulls with 1, the near ones with p each: 2 p = 1.
TEST(LevenbergMarquardt, AFarResidualPullsNoMoreThanItsBound) {
  LeastSquaresProblem problem = mean_of({0, 0, 10}, 0);
  problem.huber_bound = 1.0;
  EXPECT_NEAR(levenberg_marquardt(problem).parameters[0], 0.5, 1e-6);
}

TEST(LevenbergMarquardt, SaysWhenTheStepsDidNotSuffice) {
  EXPECT_FALSE(levenberg_marquardt(mean_of({1, 2, 3, 6}, 100), {.most_steps = 1}).converged);
}

}  // namespace
}  // namespace meshwright
