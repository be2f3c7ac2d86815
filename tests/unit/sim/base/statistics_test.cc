// SPDX-License-Identifier: Apache-2.0
#include "sim/base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace meshwright {
namespace {

TEST(Statistics, DeviationsDivideByOneLessOrByAll) {
  // Mean 5; squares about it 9 + 1 + 1 + 9 = 20.
  const std::vector<double> values{2.0, 4.0, 6.0, 8.0};
  EXPECT_DOUBLE_EQ(mean(values), 5.0);
  EXPECT_DOUBLE_EQ(standard_deviation(values), std::sqrt(20.0 / 3.0));
  EXPECT_DOUBLE_EQ(population_deviation(values), std::sqrt(5.0));
  EXPECT_DOUBLE_EQ(root_mean_square(values), std::sqrt(30.0));  // (4 + 16 + 36 + 64) / 4
  EXPECT_DOUBLE_EQ(standard_deviation({3.0}), 0.0);
}

TEST(Statistics, MediansOfAnEvenNumberDiffer) {
  EXPECT_DOUBLE_EQ(median({8.0, 2.0, 4.0, 6.0}), 5.0);
  EXPECT_DOUBLE_EQ(upper_median({8.0, 2.0, 4.0, 6.0}), 6.0);
  EXPECT_DOUBLE_EQ(median({3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(upper_median({3.0, 1.0, 2.0}), 2.0);
}

TEST(Statistics, QuantilesOfTenValues) {
  const std::vector<double> values{10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 9.0);               // nine of ten are no larger
  EXPECT_DOUBLE_EQ(interpolated_quantile(values, 0.9), 9.1);  // place 8.1 from 0
  EXPECT_DOUBLE_EQ(lower_quantile(values, 0.9), 9.0);         // place 8
  EXPECT_DOUBLE_EQ(conformal_quantile(values, 0.9), 10.0);    // 0.9 x 11 = 9.9: the tenth
  EXPECT_DOUBLE_EQ(conformal_quantile(values, 0.99), 10.0);   // the eleventh is not there
  EXPECT_DOUBLE_EQ(quantile(values, 0.0), 1.0);
}

// Tables of both distributions: t(0.95, 4) = 2.132, chi-squared (0.95, 3) = 7.815.
TEST(Statistics, QuantilesOfDistributions) {
  EXPECT_NEAR(student_quantile(0.95, 4.0), 2.132, 5e-4);
  EXPECT_NEAR(chi_squared_quantile(0.95, 3.0), 7.815, 5e-4);
}

}  // namespace
}  // namespace meshwright
