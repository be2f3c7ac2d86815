// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/base/statistics.h"
#include "sim/collective/collective_model.h"
#include "sim/hardware/cluster.h"
#include "sim/kernel_time/gemm_model.h"

namespace meshwright::reports {
namespace {

// (p90 - p10) / 2.563 median above this is worth a second look.
constexpr double kNoisy = 0.10;

Json point_of(std::string what, Seconds measured, Seconds fitted, double spread) {
  return {{"what", std::move(what)},          {"measured_seconds", measured.value()},
          {"fitted_seconds", fitted.value()}, {"residual", fitted / measured - 1.0},
          {"relative_spread", spread},        {"noisy", spread > kNoisy}};
}

Json gemm_points(const GemmModel& model, const Device& device) {
  Json points = Json::array();
  for (const GemmPoint& p : model.points) {
    GemmShape shape;
    shape.batch = p.batch;
    shape.m = p.m;
    shape.n = p.n;
    shape.k = p.k;
    const std::string batch = p.batch > 1 ? fmt::format("{} of ", p.batch) : "";
    points.push_back(point_of(fmt::format("{}{} x {} x {}", batch, p.m, p.n, p.k), p.time,
                              gemm_model_time(shape, model, device), p.relative_spread));
  }
  return points;
}

Json curve_points(const CollectiveCurve& curve, const Cluster& cluster, Tier tier) {
  Placement placement;
  placement.group_size = curve.group_size;
  placement.ranks_per_node = tier == Tier::intra_node ? curve.group_size : 1;
  placement.num_nodes = tier == Tier::intra_node ? 1 : curve.group_size;
  Json points = Json::array();
  for (const CollectivePoint& p : curve.points) {
    points.push_back(point_of(
        traffic_text(p.payload), p.time,
        collective_model_time(curve.collective, p.payload, placement, cluster), p.relative_spread));
  }
  return points;
}

// The root of the mean square of the residuals' logarithms: what a factor misses by, typically.
double typical_residual(const Json& points) {
  std::vector<double> logs;
  for (const Json& point : points) logs.push_back(std::log1p(point["residual"].get<double>()));
  return root_mean_square(logs);
}

void add_points(Json& all, std::string name, Json points) {
  if (points.empty()) return;
  const double residual = typical_residual(points);
  all.push_back(
      {{"name", std::move(name)}, {"typical_residual", residual}, {"points", std::move(points)}});
}

}  // namespace

Json measured_points_section(const planner::Plan& plan) {
  const Cluster& cluster = plan.cluster;
  Json all = Json::array();
  for (const GemmModel& model : only_device(cluster).gemm) {
    add_points(all, fmt::format("{} GEMM", name_of(model.precision)),
               gemm_points(model, only_device(cluster)));
  }
  const auto add_link = [&](const Link& link, Tier tier) {
    for (const CollectiveCurve& curve : link.curves) {
      add_points(all,
                 fmt::format("{} of {} ranks, {}", spoken(name_of(curve.collective)),
                             curve.group_size, link.name),
                 curve_points(curve, cluster, tier));
    }
  };
  add_link(cluster.intra_node, Tier::intra_node);
  add_link(cluster.inter_node, Tier::inter_node);
  return all;
}

}  // namespace meshwright::reports
