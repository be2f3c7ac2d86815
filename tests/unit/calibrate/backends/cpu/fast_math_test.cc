// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cpu/fast_math.h"

#include <gtest/gtest.h>

#include <cmath>

namespace meshwright::calibrate::cpu {
namespace {

TEST(FastMath, ExpIsWithinAMillionthOfExp) {
  double worst = 0.0;
  for (int i = -86'000; i <= 87'000; ++i) {
    const float x = static_cast<float>(i) * 1e-3F;
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(fast_exp(x)) / exact - 1.0));
  }
  EXPECT_LT(worst, 1e-6);
}

TEST(FastMath, ExpOfZeroIsOneAndFarBelowZeroIsNearlyNothing) {
  EXPECT_EQ(fast_exp(0.0F), 1.0F);
  EXPECT_LT(fast_exp(-1000.0F), 2e-38F);
  EXPECT_GT(fast_exp(-1000.0F), 0.0F);
  EXPECT_TRUE(std::isfinite(fast_exp(1000.0F)));
}

TEST(FastMath, LogisticIsWithinAMillionthAndSaturates) {
  for (int i = -20'000; i <= 20'000; ++i) {
    const float x = static_cast<float>(i) * 1e-3F;
    const double exact = 1.0 / (1.0 + std::exp(-static_cast<double>(x)));
    ASSERT_NEAR(static_cast<double>(fast_logistic(x)) / exact, 1.0, 1e-6) << x;
  }
  EXPECT_EQ(fast_logistic(100.0F), 1.0F);
}

}  // namespace
}  // namespace meshwright::calibrate::cpu
