// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/holdout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/quadrature.h"
#include "sim/base/statistics.h"
#include "sim/collective/collective.h"

namespace meshwright::calibrate {
namespace {

constexpr double kDeviations = 2.0;

struct Prediction {
  double error = 0.0, noise = 0.0;
};

Link& link_of(Cluster& cluster, Tier tier) {
  return tier == Tier::intra_node ? cluster.intra_node : cluster.inter_node;
}

double noise_of(const CollectivePoint& point, const CollectivePoint& left,
                const CollectivePoint& right) {
  const double neighbours = std::max(left.relative_spread, right.relative_spread);
  return kDeviations * in_quadrature(point.relative_spread, neighbours);
}

void predict(const CollectiveCurve& curve, Tier tier, Cluster cluster,
             std::vector<Prediction>& predictions) {
  CollectiveCurve half = curve;
  half.points.clear();
  for (std::size_t i = 0; i < curve.points.size(); i += 2) half.points.push_back(curve.points[i]);
  link_of(cluster, tier).curves = {half};
  const Placement place = measured_placement(curve, tier, cluster);
  for (std::size_t i = 1; i + 1 < curve.points.size(); i += 2) {
    const CollectivePoint& point = curve.points[i];
    const Cost cost = collective_cost(curve.collective, point.payload, place, cluster);
    predictions.push_back({std::abs(cost.time / point.time - 1.0),
                           noise_of(point, curve.points[i - 1], curve.points[i + 1])});
  }
}

}  // namespace

Holdout hold_out_half(const Cluster& cluster, Tier tier) {
  const Link& link = tier == Tier::intra_node ? cluster.intra_node : cluster.inter_node;
  std::vector<Prediction> predictions;
  for (const CollectiveCurve& curve : link.curves) predict(curve, tier, cluster, predictions);
  Holdout result{.predicted = static_cast<int>(predictions.size())};
  if (predictions.empty()) return result;
  std::vector<double> errors, noises;
  for (const Prediction& p : predictions) {
    errors.push_back(p.error);
    noises.push_back(p.noise);
    if (p.error <= p.noise) ++result.within_noise;
  }
  result.median_error = median(errors);
  result.p90_error = interpolated_quantile(std::move(errors), 0.9);
  result.median_noise = median(std::move(noises));
  return result;
}

std::string Holdout::sentence() const {
  return fmt::format(
      "half of the points predict the other {} with a median error of {:.1f} % (p90 {:.1f} %); "
      "{} are within two standard deviations of the measured noise, whose median is {:.1f} %",
      predicted, 100.0 * median_error, 100.0 * p90_error, within_noise, 100.0 * median_noise);
}

}  // namespace meshwright::calibrate
