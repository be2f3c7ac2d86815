// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/fit.h"

#include <algorithm>
#include <utility>

#include "calibrate/fit/least_squares.h"
#include "sim/collective/collective.h"
#include "sim/collective/collective_model.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/device.h"
#include "sim/kernel_time/gemm_model.h"

namespace meshwright::calibrate {
namespace {

// Too few points to say how far off a model is.
constexpr double kUnknownSpread = 0.3;
constexpr std::size_t kFewestPoints = 4;
// Where a fit starts that nothing else says.
constexpr double kFirstRamp = 16.0, kFirstLatency = 1e-6;
constexpr BytesPerSecond kFirstBandwidth = gigabytes_per_second(1);

double best_rate(const std::vector<GemmPoint>& points) {
  double best = 0.0;
  for (const GemmPoint& p : points) {
    best = std::max(best, (gemm_flops({p.batch, p.m, p.n, p.k}) / p.time).value());
  }
  return best;
}

// Products of one depth say nothing of what a depth costs: mamf-finder's usual run has one k.
bool of_one_depth(const std::vector<GemmPoint>& points) {
  constexpr std::int64_t kApart = 2;
  std::int64_t least = points.front().k, most = points.front().k;
  for (const GemmPoint& p : points) {
    least = std::min(least, p.k);
    most = std::max(most, p.k);
  }
  return most < kApart * least;
}

const Link& link_of(const Cluster& cluster, Tier tier) {
  return tier == Tier::intra_node ? cluster.intra_node : cluster.inter_node;
}

struct LinkSample {
  Collective collective;
  Placement place;
  Bytes payload;
  Seconds time;
};

std::vector<LinkSample> samples_of(const Cluster& cluster, Tier tier) {
  std::vector<LinkSample> samples;
  for (const CollectiveCurve& curve : link_of(cluster, tier).curves) {
    const Placement place = measured_placement(curve, tier, cluster);
    for (const CollectivePoint& p : curve.points) {
      samples.push_back({curve.collective, place, p.payload, p.time});
    }
  }
  return samples;
}

}  // namespace

Fit fit_gemm(GemmModel& model, const Device& device) {
  Fit fit{.what = "gemm " + std::string(name_of(model.precision)), .parameters = {}};
  const bool has_peak = model.peak.value() > 0.0;
  fit.points = static_cast<int>(model.points.size());
  if (!has_peak) {
    model.peak = flops_per_second(best_rate(model.points));
    model.sustained_fraction = 1.0;
    model.relative_spread = kUnknownSpread;
    model.provenance = Provenance::fitted;
  }
  if (model.points.size() < kFewestPoints) return fit;
  std::vector<double> observed;
  for (const GemmPoint& p : model.points) observed.push_back(p.time.value());
  GemmModel tried = model;
  tried.points.clear();
  const bool keeps_ramp = model.ramp_k > 0.0 && of_one_depth(model.points);
  std::vector<double> start{model.sustained_fraction};
  if (!keeps_ramp) start.push_back(model.ramp_k > 0.0 ? model.ramp_k : kFirstRamp);
  const LogFit result = fit_log_space(
      start,
      [&](std::span<const double> parameters, std::size_t i) {
        const GemmPoint& p = model.points[i];
        tried.sustained_fraction = parameters[0];
        if (!keeps_ramp) tried.ramp_k = parameters[1];
        return gemm_model_time({p.batch, p.m, p.n, p.k}, tried, device).value();
      },
      observed);
  const FlopsPerSecond asked = model.peak;
  // peak is the best rate seen; where the fit asks for more, that is the peak. No datasheet's is.
  if (!has_peak) model.peak *= std::max(1.0, result.parameters[0]);
  model.sustained_fraction = std::min(1.0, result.parameters[0]);
  if (!keeps_ramp) model.ramp_k = result.parameters[1];
  model.relative_spread = result.relative_spread;
  model.provenance = Provenance::fitted;
  fit.relative_spread = result.relative_spread;
  fit.parameters = {{"sustained_flops_per_second", result.parameters[0] * asked.value(),
                     result.standard_errors[0] * asked.value()}};
  if (!keeps_ramp) {
    fit.parameters.push_back({"ramp_k", result.parameters[1], result.standard_errors[1]});
  }
  return fit;
}

Fit fit_link(Cluster& cluster, Tier tier) {
  Link& link = tier == Tier::intra_node ? cluster.intra_node : cluster.inter_node;
  Fit fit{.what = "link " + std::string(name_of(tier)), .parameters = {}};
  const std::vector<LinkSample> samples = samples_of(cluster, tier);
  fit.points = static_cast<int>(samples.size());
  const bool has_bandwidth = link.bandwidth.value() > 0.0;
  if (!has_bandwidth) {
    link.bandwidth_fraction = 1.0;
    link.relative_spread = kUnknownSpread;
  }
  if (samples.size() < kFewestPoints) return fit;
  std::vector<double> observed;
  for (const LinkSample& s : samples) observed.push_back(s.time.value());
  Cluster tried = cluster;
  Link& tried_link = tier == Tier::intra_node ? tried.intra_node : tried.inter_node;
  tried_link.curves.clear();
  if (!has_bandwidth) tried_link.bandwidth = kFirstBandwidth;
  const BytesPerSecond whole = tried_link.bandwidth;
  const LogFit result = fit_log_space(
      {link.latency.value() > 0.0 ? link.latency.value() : kFirstLatency, link.bandwidth_fraction},
      [&](std::span<const double> parameters, std::size_t i) {
        tried_link.latency = seconds(parameters[0]);
        tried_link.bandwidth_fraction = parameters[1];
        const LinkSample& s = samples[i];
        return collective_model_time(s.collective, s.payload, s.place, tried).value();
      },
      observed);
  link.latency = seconds(result.parameters[0]);
  // More than a link states was no datasheet's: it is the new whole, of which the switch reaches
  // a smaller share.
  const bool outgrown = result.parameters[1] > 1.0;
  if (has_bandwidth && !outgrown) {
    link.bandwidth_fraction = result.parameters[1];
  } else {
    link.bandwidth = whole * result.parameters[1];
    link.bandwidth_fraction = 1.0;
    if (has_bandwidth) link.sharp_bandwidth_fraction /= result.parameters[1];
  }
  link.relative_spread = result.relative_spread;
  link.provenance = Provenance::fitted;
  fit.relative_spread = result.relative_spread;
  fit.parameters = {{"latency_seconds", result.parameters[0], result.standard_errors[0]},
                    {"bandwidth_bytes_per_second", result.parameters[1] * whole.value(),
                     result.standard_errors[1] * whole.value()}};
  return fit;
}

}  // namespace meshwright::calibrate
