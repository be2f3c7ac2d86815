// SPDX-License-Identifier: Apache-2.0
#include "planner/search/normal.h"

#include <gtest/gtest.h>

namespace meshwright::planner {
namespace {

TEST(Normal, CdfHasTheTabulatedValues) {
  EXPECT_DOUBLE_EQ(normal_cdf(0.0), 0.5);
  EXPECT_NEAR(normal_cdf(1.644854), 0.95, 1e-6);
  EXPECT_NEAR(normal_cdf(-1.959964), 0.025, 1e-6);
}

TEST(Normal, QuantileUndoesTheCdf) {
  for (const double p : {1e-6, 0.01, 0.3, 0.5, 0.95, 1.0 - 1e-6}) {
    EXPECT_NEAR(normal_cdf(normal_quantile(p)), p, 1e-9) << p;
  }
}

TEST(Normal, ShortfallOfAnEvenBetIsTheDensityAtZero) {
  // E[max(0, -z)] = integral of z phi(z) over z > 0 = phi(0) = 0.398942; scaled by the deviation.
  EXPECT_NEAR(mean_shortfall(0.0, 1.0), 0.398942, 1e-6);
  EXPECT_NEAR(mean_shortfall(0.0, 3.0), 3.0 * 0.398942, 1e-5);
  // Without doubt only what is surely lost counts.
  EXPECT_DOUBLE_EQ(mean_shortfall(2.0, 0.0), 0.0);
  EXPECT_DOUBLE_EQ(mean_shortfall(-2.0, 0.0), 2.0);
}

// E[max(0, -x)] of a normal x of mean 1 and deviation 1: phi(1) - (1 - Phi(1)) = 0.241971 -
// 0.158655.
TEST(Normal, ShortfallIsLessWhereTheRunnerUpIsSlower) {
  EXPECT_NEAR(mean_shortfall(1.0, 1.0), 0.083315, 1e-6);
}

TEST(Normal, LatticeHasTheMomentsOfIndependentNormals) {
  const NormalLattice lattice(9);
  double mean = 0.0;
  double square = 0.0;
  int both_positive = 0;
  for (int k = 0; k < lattice.size(); ++k) {
    mean += lattice.coordinate(k, 8);
    square += lattice.coordinate(k, 8) * lattice.coordinate(k, 8);
    both_positive += lattice.coordinate(k, 0) > 0.0 && lattice.coordinate(k, 8) > 0.0 ? 1 : 0;
  }
  EXPECT_NEAR(mean / lattice.size(), 0.0, 1e-12);
  EXPECT_NEAR(square / lattice.size(), 1.0, 0.01);
  EXPECT_NEAR(static_cast<double>(both_positive) / lattice.size(), 0.25, 0.01);
}

}  // namespace
}  // namespace meshwright::planner
