// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/collective.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/collective_model.h"

namespace meshwright {
namespace {

const CollectiveCurve* curve_for(const Link& link, Collective collective, int group_size) {
  const CollectiveCurve* nearest = nullptr;
  const auto distance = [group_size](const CollectiveCurve& c) {
    return std::abs(std::log2(static_cast<double>(c.group_size) / group_size));
  };
  for (const CollectiveCurve& curve : link.curves) {
    if (curve.collective != collective || curve.points.empty()) continue;
    if (nearest == nullptr || distance(curve) < distance(*nearest)) nearest = &curve;
  }
  return nearest;
}

struct CurveValue {
  double seconds = 0.0, spread = 0.0;
  Provenance provenance = Provenance::measured;
};

// Straight lines between the points in log-log; noise that makes a larger payload faster is
// flattened (running maximum). Constant below the first point, constant algorithm bandwidth above
// the last.
CurveValue read_curve(const std::vector<CollectivePoint>& points, Bytes payload) {
  double left = 0.0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double right = std::max(left, points[i].time.value());
    if (payload == points[i].payload) {
      return {right, points[i].relative_spread, Provenance::measured};
    }
    if (payload < points[i].payload) {
      if (i == 0) return {right, points[i].relative_spread, Provenance::extrapolated};
      const double share = std::log(payload / points[i - 1].payload) /
                           std::log(points[i].payload / points[i - 1].payload);
      return {left * std::pow(right / left, share),
              std::max(points[i - 1].relative_spread, points[i].relative_spread),
              Provenance::interpolated};
    }
    left = right;
  }
  const CollectivePoint& last = points.back();
  return {left * (payload / last.payload), last.relative_spread, Provenance::extrapolated};
}

// Where a calibration run puts a group of this size: nodes filled one after the other, alone.
Placement calibrated_placement(int group_size, Tier tier, const Cluster& cluster) {
  if (tier == Tier::intra_node) return {group_size, group_size, 1, 1};
  const int in_node = std::min(group_size, cluster.gpus_per_node);
  const int nodes = (group_size + in_node - 1) / in_node;
  if (nodes > 1) return {group_size, in_node, nodes, 1};
  return {group_size, 1, group_size, 1};
}

bool same(const Placement& a, const Placement& b) {
  return a.group_size == b.group_size && a.ranks_per_node == b.ranks_per_node &&
         a.num_nodes == b.num_nodes && a.groups_per_node == b.groups_per_node &&
         a.num_leaves == b.num_leaves && a.num_pods == b.num_pods;
}

}  // namespace

double bus_factor(Collective collective, int group_size) {
  const double n = group_size;
  switch (collective) {
    case Collective::all_reduce:
      return 2.0 * (n - 1.0) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return (n - 1.0) / n;
    case Collective::broadcast:
    case Collective::send_recv:
      break;
  }
  return group_size > 1 ? 1.0 : 0.0;
}

Cost collective_cost(Collective collective, Bytes payload, const Placement& placement,
                     const Cluster& cluster) {
  if (placement.group_size <= 1 || payload.value() <= 0.0) return {};
  const bool inside = placement.tier() == Tier::intra_node;
  const Link& link = !inside               ? cluster.inter_node
                     : placement.in_island ? cluster.island
                                           : cluster.intra_node;
  const CollectiveCurve* curve = curve_for(link, collective, placement.group_size);
  if (curve == nullptr) {
    const Seconds time = collective_model_time(collective, payload, placement, cluster);
    return {time, link.relative_spread, link.provenance};
  }
  const CurveValue value = read_curve(curve->points, payload);
  const Placement measured = calibrated_placement(curve->group_size, placement.tier(), cluster);
  // Groups inside a node do not meet each other on a switch.
  const bool as_measured =
      inside ? placement.group_size == measured.group_size : same(placement, measured);
  if (as_measured) return {seconds(value.seconds), value.spread, value.provenance};
  // Another size or another share of the NICs: the model says how much longer that takes.
  const double scale = collective_model_time(collective, payload, placement, cluster) /
                       collective_model_time(collective, payload, measured, cluster);
  return {seconds(value.seconds * scale), std::hypot(value.spread, link.relative_spread),
          Provenance::extrapolated};
}

}  // namespace meshwright
