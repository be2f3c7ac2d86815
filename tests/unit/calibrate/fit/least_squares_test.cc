// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/least_squares.h"

#include <gtest/gtest.h>

#include <cmath>

namespace meshwright::calibrate {
namespace {

// time = alpha + size / beta at sizes 1 KiB to 64 MiB.
double straight_line(std::span<const double> p, std::size_t i) {
  return p[0] + std::exp2(static_cast<double>(10 + i)) / p[1];
}

TEST(LeastSquares, ExactDataGiveTheParametersBackWithoutError) {
  const std::vector<double> truth{5e-6, 12e9};
  std::vector<double> observed;
  for (std::size_t i = 0; i < 17; ++i) observed.push_back(straight_line(truth, i));
  const LogFit fit = fit_log_space({1e-3, 1e6}, straight_line, observed);
  // Tolerances: where the sum of squares vanishes against rounding.
  EXPECT_NEAR(fit.parameters[0] / truth[0], 1.0, 1e-5);
  EXPECT_NEAR(fit.parameters[1] / truth[1], 1.0, 1e-5);
  EXPECT_LT(fit.relative_spread, 1e-5);
  EXPECT_TRUE(fit.converged);
}

// A constant c from four times c*e^d, c*e^-d, c*e^d, c*e^-d: the logarithms average to log c,
// s^2 = 4 d^2 / (4 - 1), and the standard error of log c is s / sqrt(4) = d / sqrt(3).
TEST(LeastSquares, TheStandardErrorIsTheTextbooks) {
  const double c = 7.0, d = 0.1;
  const std::vector<double> observed{c * std::exp(d), c * std::exp(-d), c * std::exp(d),
                                     c * std::exp(-d)};
  const LogFit fit = fit_log_space(
      {1.0}, [](std::span<const double> p, std::size_t) { return p[0]; }, observed);
  EXPECT_NEAR(fit.parameters[0], c, 1e-6);
  EXPECT_NEAR(fit.relative_spread, d * std::sqrt(4.0 / 3.0), 1e-6);
  EXPECT_NEAR(fit.standard_errors[0], c * d / std::sqrt(3.0), 1e-5);
}

// Alternating errors of 10 % on 17 points leave both parameters within three standard errors.
TEST(LeastSquares, NoisyDataGiveTheParametersWithinTheirErrors) {
  const std::vector<double> truth{5e-6, 12e9};
  std::vector<double> observed;
  for (std::size_t i = 0; i < 17; ++i) {
    observed.push_back(straight_line(truth, i) * (i % 2 == 0 ? 1.1 : 1.0 / 1.1));
  }
  const LogFit fit = fit_log_space({1e-3, 1e6}, straight_line, observed);
  for (std::size_t p = 0; p < 2; ++p) {
    EXPECT_LT(std::abs(fit.parameters[p] - truth[p]), 3.0 * fit.standard_errors[p]);
    EXPECT_LT(fit.standard_errors[p], 0.1 * truth[p]);
  }
}

// Times that grow faster than the size leave no room for a constant: it is none, not 1e-186.
TEST(LeastSquares, AParameterThatTheDataDenyIsZero) {
  std::vector<double> observed;
  for (std::size_t i = 0; i < 17; ++i) {
    observed.push_back(std::pow(std::exp2(static_cast<double>(10 + i)), 1.2) / 12e9);
  }
  const LogFit fit = fit_log_space({1e-3, 1e6}, straight_line, observed);
  EXPECT_EQ(fit.parameters[0], 0.0);
  EXPECT_EQ(fit.standard_errors[0], 0.0);
  EXPECT_GT(fit.parameters[1], 0.0);
}

}  // namespace
}  // namespace meshwright::calibrate
