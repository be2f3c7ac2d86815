// SPDX-License-Identifier: Apache-2.0
// The standard normal distribution, and fixed points that stand for many draws from it.
#pragma once

#include <vector>

namespace meshwright::planner {

double normal_density(double z);
double normal_cdf(double z);
// The z with normal_cdf(z) = p, for p from 1e-6 to 1 - 1e-6: Newton steps from Tukey's lambda.
double normal_quantile(double p);

// E[max(0, -(gap + deviation z))]: what is lost on average by the side that leads by `gap`.
double mean_shortfall(double gap, double deviation);

// `count` equally likely values of a spread that is scaled inverse chi-squared: scale x
// sqrt(degrees / the chi-squared distribution's quantile at 1 - (i + 1/2) / count). With 0 degrees
// the scale alone.
std::vector<double> likely_spreads(double scale, double degrees, int count);

// 4,096 points of `dimensions` independent standard normals, always the same ones: the additive
// recurrence of the generalised golden ratio (the root of x^(d+1) = x + 1; Roberts 2018,
// "The Unreasonable Effectiveness of Quasirandom Sequences") through the quantile, and the same
// points mirrored, so that means are exact.
class NormalLattice {
 public:
  explicit NormalLattice(int dimensions);
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] double coordinate(int point, int dimension) const;

 private:
  int dimensions_;
  int size_;
  std::vector<double> coordinates_;  // of the points that are not mirrored
};

}  // namespace meshwright::planner
