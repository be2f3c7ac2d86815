// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/regime_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/statistics.h"

namespace meshwright::planner {
namespace {

SetErrors errors_of(const std::string& file, std::vector<double> errors) {
  SetErrors set;
  set.set = set.file = file;
  set.groups.assign(errors.size(), "one");
  set.parts.assign(errors.size(), 0.0);
  set.errors = std::move(errors);
  return set;
}

TEST(Statistics, OfSmallSeries) {
  EXPECT_EQ(median({3, 1, 2, 10}), 2.5);
  EXPECT_EQ(quantile({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.9), 9);
  EXPECT_EQ(quantile({5}, 0.9), 5);
  EXPECT_NEAR(standard_deviation({1, 2, 3}), 1.0, 1e-12);
  // One of 1, 3, 4, 5 and 100 is dropped at each end: sqrt((9 + 16 + 25) / 3).
  EXPECT_NEAR(trimmed_root_mean_square({100, 3, 4, 5, 1}), std::sqrt(50.0 / 3.0), 1e-12);
  EXPECT_NEAR(trimmed_root_mean_square({3, 4}), std::sqrt(12.5), 1e-12);
  EXPECT_EQ(standard_deviation({7}), 0.0);
}

// Tables of Student's t: 1.833 with 9 degrees, 6.314 with 1.
TEST(StudentQuantile, IsTheTables) {
  EXPECT_NEAR(student_quantile(0.95, 9), 1.833, 1e-3);
  EXPECT_NEAR(student_quantile(0.95, 1), 6.314, 1e-3);
  EXPECT_NEAR(student_quantile(0.95, 1e6), 1.645, 1e-3);
}

// Median 0.1; deviations 0.1, 0 and 0.2: nine of ten lie within 0.2 = 1.645 x 0.1216. One group,
// mean 0.1333: deviations 0.1333, 0.0333 and 0.1667, of which 0.1667 sqrt(3 / 2) = 0.2041.
TEST(SetSpread, IsSharedAndOwn) {
  const SetSpread found = set_spread(errors_of("a", {0.0, 0.1, 0.3}));
  EXPECT_NEAR(found.bias, 0.1, 1e-12);
  EXPECT_NEAR(found.own, 0.2 / 1.645, 1e-9);
  EXPECT_NEAR(*found.between_layouts, 0.2041 / 1.645, 1e-4);
}

// Layouts of one group share their error: nothing is between them, whatever it is.
TEST(SetSpread, WhatAGroupSharesIsNotBetweenItsLayouts) {
  SetErrors set = errors_of("a", {0.5, 0.5, -0.5, -0.5});
  set.groups = {"x", "x", "y", "y"};
  EXPECT_EQ(*set_spread(set).between_layouts, 0.0);
  EXPECT_NEAR(set_spread(set).own, 0.5 / 1.645, 1e-9);
}

// Biases 0, 0.1 and 0.2: mean 0.1, s 0.1, t 2.920 with 2 degrees: 2.920 x 0.1 x sqrt(4 / 3) / 1.645
// = 0.2050. Own 0 for each but the last, 0.1 / 1.645 = 0.0608: root mean square 0.0351.
TEST(RegimeSpread, TakesStudentsQuantileForFewSets) {
  const auto found = regime_spread({errors_of("a", {0.0, 0.0}), errors_of("b", {0.1, 0.1}),
                                    errors_of("c", {0.1, 0.2, 0.3}), errors_of("d", {9.0})});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sets, 3);  // one run says nothing of its spread
  EXPECT_NEAR(found->bias, 0.1, 1e-12);
  EXPECT_NEAR(found->shared, 0.2050, 1e-3);
  EXPECT_NEAR(found->own, 0.0351, 1e-4);
  EXPECT_FALSE(regime_spread({errors_of("a", {0.0, 0.0})}));
}

// A set far from all others is judged by the others' spread alone, and found outside.
TEST(LeftOutCoverage, JudgesASetByTheOthers) {
  std::vector<SetErrors> sets;
  for (const double bias : {0.00, 0.01, 0.02, 0.03}) {
    sets.push_back(errors_of(std::to_string(bias), {bias, bias}));
  }
  sets.push_back(errors_of("far", {1.0, 1.0}));
  const auto found = left_out_coverage(sets);
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found.back().inside, 0.0);
  EXPECT_EQ(found.front().inside, 1.0);
  EXPECT_EQ(found.back().spread.sets, 4);
  // Another kind of model is not asked.
  sets.back().experts = true;
  EXPECT_EQ(left_out_coverage(sets).size(), 4U);
}

// trigamma(1/2) = pi^2 / 2 = 4.935: two numbers that lie sqrt(2 x 4.935) = 3.1416 apart in
// ln(own^2) have that variance, hence 1 degree. digamma(1/2) = -1.9635, ln(1/2) = -0.6931:
// ln(scale^2) = mean - 1.9635 + 0.6931, for a mean of 0 a scale of exp(-0.6352) = 0.5298.
TEST(OwnPrior, MatchesTheMomentsOfTheLogarithm) {
  const double half = std::acos(-1.0) / 4.0;  // of ln(own), pi / 2 apart
  const auto found = own_prior({std::exp(-half), std::exp(half)});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->degrees, 1.0, 1e-6);
  EXPECT_NEAR(found->scale, 0.5298, 1e-3);
  EXPECT_FALSE(own_prior({0.1}));
}

}  // namespace
}  // namespace meshwright::planner
