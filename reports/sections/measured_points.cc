// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/measured_points.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/text/text.h"
#include "sim/base/statistics.h"
#include "sim/collective/collective_model.h"
#include "sim/hardware/cluster.h"
#include "sim/kernel_time/gemm_model.h"

namespace meshwright::reports {
namespace {

// (p90 - p10) / 2.563 median above this is worth a second look.
constexpr double kNoisy = 0.10;

const Record<MeasuredTime>& measured_time_record() {
  return described([](Record<MeasuredTime>& r) {
    using R = MeasuredTime;
    r.about("A measured point beside the fitted model.");
    r.rows<&R::what, &R::measured, &R::fitted>();
    r.row<&R::residual>(kAnyNumber, "Fitted over measured, less one.");
    r.row<&R::relative_spread>("One standard deviation.");
    r.row<&R::noisy>();
    r.named("MeasuredTime").all_required();
  });
}

MeasuredTime measured_time(std::string what, Seconds measured, Seconds fitted, double spread) {
  return {.what = std::move(what),
          .measured = measured,
          .fitted = fitted,
          .residual = fitted / measured - 1.0,
          .relative_spread = spread,
          .noisy = spread > kNoisy};
}

std::vector<MeasuredTime> gemm_times(const GemmModel& model, const Device& device) {
  std::vector<MeasuredTime> times;
  for (const GemmPoint& p : model.points) {
    GemmShape shape;
    shape.batch = p.batch;
    shape.m = p.m;
    shape.n = p.n;
    shape.k = p.k;
    const std::string batch = p.batch > 1 ? fmt::format("{} of ", p.batch) : "";
    times.push_back(measured_time(fmt::format("{}{} x {} x {}", batch, p.m, p.n, p.k), p.time,
                                  gemm_model_time(shape, model, device), p.relative_spread));
  }
  return times;
}

std::vector<MeasuredTime> curve_times(const CollectiveCurve& curve, const Cluster& cluster,
                                      Tier tier) {
  Placement placement;
  placement.group_size = curve.group_size;
  placement.ranks_per_node = tier == Tier::intra_node ? curve.group_size : 1;
  placement.num_nodes = tier == Tier::intra_node ? 1 : curve.group_size;
  std::vector<MeasuredTime> times;
  for (const CollectivePoint& p : curve.points) {
    times.push_back(measured_time(
        traffic_text(p.payload), p.time,
        collective_model_time(curve.collective, p.payload, placement, cluster), p.relative_spread));
  }
  return times;
}

// The root of the mean square of the residuals' logarithms: what a factor misses by, typically.
double typical_residual(const std::vector<MeasuredTime>& times) {
  std::vector<double> logs;
  for (const MeasuredTime& time : times) logs.push_back(std::log1p(time.residual));
  return root_mean_square(logs);
}

void add_series(std::vector<MeasuredSeries>& all, const std::string& name,
                const std::vector<MeasuredTime>& times) {
  if (!times.empty()) all.push_back({name, typical_residual(times), times});
}

// Points of one kind: measured, fitted, residual, noise.
std::string series_table(const MeasuredSeries& series) {
  html::TableRows rows;
  for (const MeasuredTime& point : series.points) {
    rows.push_back(
        {html::escape(point.what), significant(point.measured.value() * 1e3),
         significant(point.fitted.value() * 1e3), fmt::format("{:+.1f}", point.residual * 100.0),
         fmt::format("{:.1f}", point.relative_spread * 100.0), point.noisy ? "noisy" : ""});
  }
  return html::table(
      fmt::format("{}: typical residual {}", series.name, percent_text(series.typical_residual)),
      {{"size"},
       {"measured, ms", true},
       {"fitted model, ms", true},
       {"residual, %", true},
       {"noise (1 sigma), %", true},
       {"flagged"}},
      rows);
}

}  // namespace

const Record<MeasuredSeries>& measured_series_record() {
  return described([](Record<MeasuredSeries>& r) {
    using R = MeasuredSeries;
    r.about("Measured points of one kind.");
    r.rows<&R::name, &R::typical_residual>();
    r.row<&R::points>(measured_time_record);
    r.named("MeasuredSeries").all_required();
  });
}

std::vector<MeasuredSeries> measured_series_of(const planner::Plan& plan) {
  const Cluster& cluster = plan.cluster;
  const Device& device = only_device(cluster);
  std::vector<MeasuredSeries> all;
  for (const GemmModel& model : device.gemm) {
    add_series(all, fmt::format("{} GEMM", name_of(model.precision)), gemm_times(model, device));
  }
  const auto add_link = [&](const Link& link, Tier tier) {
    for (const CollectiveCurve& curve : link.curves) {
      add_series(all,
                 fmt::format("{} of {} ranks, {}", spoken(name_of(curve.collective)),
                             curve.group_size, link.name),
                 curve_times(curve, cluster, tier));
    }
  };
  add_link(cluster.intra_node, Tier::intra_node);
  add_link(cluster.inter_node, Tier::inter_node);
  return all;
}

std::string measured_series_page(const std::vector<MeasuredSeries>& measured) {
  if (measured.empty()) return "";
  std::string tables;
  for (const MeasuredSeries& series : measured) tables += series_table(series);
  return "<h3>Measured points and the model fitted to them</h3>\n" +
         html::paragraph(
             "Near a measured point the prediction is the measurement. Further away it is the "
             "fitted model's. The residuals show the error of the fitted model.") +
         html::figure("residuals",
                      "Residual of the fitted model at each measured point. Whiskers: two standard "
                      "deviations of the measurement.") +
         html::details("Every measured point", tables);
}

}  // namespace meshwright::reports
