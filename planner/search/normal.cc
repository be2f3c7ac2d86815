// SPDX-License-Identifier: Apache-2.0
#include "planner/search/normal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/statistics.h"

namespace meshwright::planner {
namespace {

constexpr int kPoints = 4096;
constexpr double kEdge = 1e-6;  // the quantile is not asked nearer to 0 and 1

// The root above 1 of x^(d+1) = x + 1, by iterating x = (1 + x)^(1/(d+1)).
double golden_ratio(int dimensions) {
  double x = 2.0;
  for (int i = 0; i < 64; ++i) x = std::pow(1.0 + x, 1.0 / (dimensions + 1.0));
  return x;
}

}  // namespace

double normal_density(double z) {
  return std::exp(-z * z / 2.0) / std::sqrt(2.0 * std::numbers::pi);
}

double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2.0; }

double normal_quantile(double p) {
  // Not Boost.Math's, which differs by up to 1.5e-8: every predicted range is made of these values.
  constexpr double kExponent = 0.14;  // Tukey's lambda: within 0.01 of the quantile in the middle
  double z = 4.91 * (std::pow(p, kExponent) - std::pow(1.0 - p, kExponent));
  for (int i = 0; i < 6; ++i) z -= (normal_cdf(z) - p) / normal_density(z);
  return z;
}

double mean_shortfall(double gap, double deviation) {
  if (deviation <= 0.0) return std::max(0.0, -gap);
  const double z = gap / deviation;
  return deviation * normal_density(z) - gap * normal_cdf(-z);
}

std::vector<double> likely_spreads(double scale, double degrees, int count) {
  if (!(degrees > 0.0)) return {scale};
  std::vector<double> spreads;
  for (int i = 0; i < count; ++i) {
    const double square = chi_squared_quantile(1.0 - (i + 0.5) / count, degrees);
    spreads.push_back(scale * std::sqrt(degrees / square));
  }
  return spreads;
}

NormalLattice::NormalLattice(int dimensions) : dimensions_(dimensions), size_(kPoints) {
  const double ratio = golden_ratio(dimensions);
  for (int point = 0; point < kPoints / 2; ++point) {
    double step = 1.0;
    for (int d = 0; d < dimensions; ++d) {
      step /= ratio;
      const double place = 0.5 + step * (point + 1.0);
      const double inside = place - std::floor(place);
      coordinates_.push_back(normal_quantile(std::clamp(inside, kEdge, 1.0 - kEdge)));
    }
  }
}

double NormalLattice::coordinate(int point, int dimension) const {
  const double mirrored = point % 2 == 0 ? 1.0 : -1.0;
  return mirrored * coordinates_[static_cast<std::size_t>(point / 2) * dimensions_ + dimension];
}

}  // namespace meshwright::planner
