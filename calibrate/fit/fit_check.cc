// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/fit_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/statistics.h"
#include "sim/collective/collective.h"
#include "sim/collective/collective_model.h"
#include "sim/hardware/cluster.h"
#include "sim/kernel_time/gemm_model.h"

namespace meshwright::calibrate {
namespace {

constexpr double kNoiseFactor = 3.0;

void summarise_residuals(FitCheck& check) {
  std::sort(check.points.begin(), check.points.end(),
            [](const FittedPoint& a, const FittedPoint& b) { return a.x < b.x; });
  if (check.points.empty()) return;
  std::vector<double> residuals, spreads;
  for (const FittedPoint& p : check.points) {
    residuals.push_back(std::log(p.measured / p.modelled));
    spreads.push_back(p.relative_spread);
  }
  check.residual_spread = root_mean_square(residuals);
  check.noise = median(std::move(spreads));
}

FitCheck check_gemm(const GemmModel& model, const Device& device) {
  FitCheck check{
      .title = fmt::format("gemm {}", name_of(model.precision)), .x_axis = "FLOPs", .points = {}};
  for (const GemmPoint& p : model.points) {
    const GemmShape shape{p.batch, p.m, p.n, p.k};
    check.points.push_back({.x = gemm_flops(shape).value(),
                            .label = fmt::format("{} x {} x {} x {}", p.batch, p.m, p.n, p.k),
                            .measured = p.time,
                            .modelled = gemm_model_time(shape, model, device),
                            .relative_spread = p.relative_spread});
  }
  summarise_residuals(check);
  return check;
}

FitCheck check_curve(const CollectiveCurve& curve, Tier tier, const Cluster& cluster) {
  const Placement place = measured_placement(curve, tier, cluster);
  FitCheck check{.title = fmt::format("{} over {} ranks, {}, {} a node, {} at once a node",
                                      name_of(curve.collective), curve.group_size, name_of(tier),
                                      place.ranks_per_node, place.groups_per_node),
                 .x_axis = "bytes",
                 .points = {}};
  for (const CollectivePoint& p : curve.points) {
    check.points.push_back(
        {.x = p.payload.value(),
         .label = fmt::format("{:.0f} B", p.payload.value()),
         .measured = p.time,
         .modelled = collective_model_time(curve.collective, p.payload, place, cluster),
         .relative_spread = p.relative_spread});
  }
  summarise_residuals(check);
  return check;
}

}  // namespace

bool FitCheck::describes() const {
  return residual_spread <= std::max(kDescribes, kNoiseFactor * noise);
}

std::string FitCheck::sentence() const {
  std::string numbers =
      fmt::format("{}: the model is within {:.0f} % of {} points, which themselves spread {:.0f} %",
                  title, 100.0 * residual_spread, points.size(), 100.0 * noise);
  if (describes()) return numbers;
  return numbers +
         "; it does not describe them: between points they are interpolated, beyond them "
         "times are rough, so measure the sizes that matter with --for MODEL,JOB";
}

std::vector<FitCheck> check_fits(const Cluster& cluster) {
  std::vector<FitCheck> checks;
  for (const GemmModel& model : only_device(cluster).gemm) {
    if (!model.points.empty()) checks.push_back(check_gemm(model, only_device(cluster)));
  }
  for (const Tier tier : {Tier::intra_node, Tier::inter_node}) {
    const Link& link = tier == Tier::intra_node ? cluster.intra_node : cluster.inter_node;
    for (const CollectiveCurve& curve : link.curves) {
      if (!curve.points.empty()) checks.push_back(check_curve(curve, tier, cluster));
    }
  }
  return checks;
}

}  // namespace meshwright::calibrate
