// SPDX-License-Identifier: Apache-2.0
#include "sim/collective/collective.h"

#include <algorithm>
#include <cmath>

#include "sim/base/quadrature.h"
#include "sim/collective/collective_model.h"

namespace meshwright {
namespace {

// Doublings between two numbers.
double apart(int a, int b) { return std::abs(std::log2(static_cast<double>(a) / b)); }

// Distance between a curve's groups and the wanted ones: first by size, then by placement, then by
// the number of groups that share a node.
double distance(const Placement& measured, const Placement& asked) {
  return apart(measured.group_size, asked.group_size) +
         0.5 * apart(measured.ranks_per_node, asked.ranks_per_node) +
         0.25 * apart(measured.groups_per_node, asked.groups_per_node);
}

const CollectiveCurve* curve_for(const Link& link, Collective collective, const Placement& asked,
                                 const Cluster& cluster) {
  const CollectiveCurve* nearest = nullptr;
  double least = 0.0;
  for (const CollectiveCurve& curve : link.curves) {
    if (curve.collective != collective || curve.points.empty()) continue;
    const double here = distance(measured_placement(curve, asked.tier(), cluster), asked);
    if (nearest != nullptr && here >= least) continue;
    nearest = &curve;
    least = here;
  }
  return nearest;
}

struct CurveValue {
  double seconds = 0.0, spread = 0.0;
  Provenance provenance = Provenance::measured;
};

// Straight lines between the points in log-log; noise that makes a larger payload faster is
// flattened (running maximum). Constant algorithm bandwidth above the last point.
CurveValue read_curve(const std::vector<CollectivePoint>& points, Bytes payload) {
  double left = 0.0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double right = std::max(left, points[i].time.value());
    if (payload == points[i].payload) {
      return {right, points[i].relative_spread, Provenance::measured};
    }
    if (payload < points[i].payload) {
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

// Share of the first point's time that a smaller payload takes: as in the model, at least in
// proportion to the bytes. A message of at most kStartUp takes only its start-up.
constexpr Bytes kStartUp = kibibytes(4);
double share_below(Collective collective, Bytes payload, Bytes first, const Placement& measured,
                   const Cluster& cluster) {
  const Bytes least = std::max(payload, std::min(kStartUp, first));
  const double share = collective_model_time(collective, least, measured, cluster) /
                       collective_model_time(collective, first, measured, cluster);
  return std::clamp(share, least / first, 1.0);
}

bool same(const Placement& a, const Placement& b) {
  return a.group_size == b.group_size && a.ranks_per_node == b.ranks_per_node &&
         a.num_nodes == b.num_nodes && a.groups_per_node == b.groups_per_node &&
         a.num_leaves == b.num_leaves && a.num_pods == b.num_pods;
}

bool same_size(const Placement& a, const Placement& b) { return a.group_size == b.group_size; }

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

Placement measured_placement(const CollectiveCurve& curve, Tier tier, const Cluster& cluster) {
  const int size = curve.group_size, groups = std::max(1, curve.groups_per_node);
  if (tier == Tier::intra_node) return {size, size, 1, groups};
  if (curve.ranks_per_node > 0) {
    return {size, curve.ranks_per_node, (size + curve.ranks_per_node - 1) / curve.ranks_per_node,
            groups};
  }
  const int in_node = std::min(size, cluster.gpus_per_node);
  const int nodes = (size + in_node - 1) / in_node;
  if (nodes > 1) return {size, in_node, nodes, groups};
  return {size, 1, size, groups};
}

Cost collective_cost(Collective collective, Bytes payload, const Placement& placement,
                     const Cluster& cluster) {
  if (placement.group_size <= 1 || payload.value() <= 0.0) return {};
  const bool inside = placement.tier() == Tier::intra_node;
  const Link& link = !inside               ? cluster.inter_node
                     : placement.in_island ? cluster.island
                                           : cluster.intra_node;
  const CollectiveCurve* curve = curve_for(link, collective, placement, cluster);
  if (curve == nullptr) {
    const Seconds time = collective_model_time(collective, payload, placement, cluster);
    return {time, link.relative_spread, link.provenance};
  }
  const Placement measured = measured_placement(*curve, placement.tier(), cluster);
  const Bytes first = curve->points.front().payload;
  CurveValue value = read_curve(curve->points, std::max(payload, first));
  if (payload < first) {
    value.seconds *= share_below(collective, payload, first, measured, cluster);
    value.provenance = Provenance::extrapolated;
  }
  const bool unstated = curve->groups_per_node == 0;
  if (same(placement, measured) || (inside && unstated && same_size(placement, measured))) {
    return {seconds(value.seconds), value.spread, value.provenance};
  }
  // Inside a node no model says what other groups do to this one: the nearest number of them.
  if (inside && same_size(placement, measured)) {
    return {seconds(value.seconds), value.spread,
            weakest(value.provenance, Provenance::interpolated)};
  }
  // Another size or another share of the NICs: the model says how much longer that takes.
  const double scale = collective_model_time(collective, payload, placement, cluster) /
                       collective_model_time(collective, payload, measured, cluster);
  return {seconds(value.seconds * scale), in_quadrature(value.spread, link.relative_spread),
          Provenance::extrapolated};
}

}  // namespace meshwright
