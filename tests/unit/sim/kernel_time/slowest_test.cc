// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/slowest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace meshwright {
namespace {

// Integral of n x phi(x) Phi(x)^(n-1) by the midpoint rule.
double by_quadrature(int n) {
  constexpr double kStep = 1e-3;
  double sum = 0.0;
  for (double x = -8.0 + kStep / 2; x < 10.0; x += kStep) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    sum += n * x * density * std::pow(below, n - 1) * kStep;
  }
  return sum;
}

TEST(ExpectedMaximum, OfOneIsTheMeanAndOfTwoIsOneOverTheRootOfPi) {
  EXPECT_EQ(expected_maximum(1), 0.0);
  EXPECT_NEAR(expected_maximum(2), 1.0 / std::sqrt(std::numbers::pi), 1e-4);
}

TEST(ExpectedMaximum, IsThatOfTheNormalsOrderStatistics) {
  for (const int n : {2, 4, 8, 64, 512, 1024, 16384}) {
    EXPECT_NEAR(expected_maximum(n), by_quadrature(n), 2e-4) << n;
  }
  // Between powers of two: within 2 % from 3 ranks, 0.5 % from 6.
  for (const int n : {6, 12, 24, 48, 96, 384, 768, 3072, 12288}) {
    EXPECT_NEAR(expected_maximum(n) / by_quadrature(n), 1.0, 0.01) << n;
  }
}

TEST(ExpectedMaximum, GrowsWithEveryRank) {
  for (int n = 1; n < 4000; ++n) EXPECT_LT(expected_maximum(n), expected_maximum(n + 1));
}

// 8 ranks: 1 + 1.4236 * 0.0175; 1,024: 1 + 3.2482 * 0.0175, so seven doublings cost 3.1 %.
TEST(SlowestOf, CostsAboutHalfAPercentADoubling) {
  const Device device;
  EXPECT_NEAR(slowest_of(8, device), 1.02491, 1e-5);
  EXPECT_NEAR(slowest_of(1024, device), 1.05684, 1e-5);
}

TEST(SlowestOf, IsOneForTheCoresOfAMachine) {
  Device core;
  core.kind = DeviceKind::cpu;
  EXPECT_EQ(slowest_of(16, core), 1.0);
}

// Two ranks whose kernels spread by a tenth: c(2) = 0.5642 of it; what one rank has alone, none.
TEST(WaitForSlowest, IsTheExpectedMaximumOfTheJitter) {
  Device core;
  core.time_jitter = 0.1;
  EXPECT_NEAR(wait_for_slowest(2, core), 0.05642, 1e-12);
  EXPECT_NEAR(wait_for_slowest(8, core), 0.14236, 1e-12);
  EXPECT_EQ(wait_for_slowest(1, core), 0.0);
}

}  // namespace
}  // namespace meshwright
