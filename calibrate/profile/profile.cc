// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/base/quadrature.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/device.h"

namespace meshwright::calibrate {
namespace {

// A measurement cannot be surer than the machine is steady from one minute to the next.
constexpr double kLeastSpread = 0.01;

double spread_of(const MeasuredPoint& point) {
  return std::max(kLeastSpread, point.measurement.summary.relative_spread);
}

const MeasuredPoint* first_of(const std::vector<MeasuredPoint>& points, PointKind kind) {
  const auto found = std::find_if(points.begin(), points.end(),
                                  [kind](const MeasuredPoint& p) { return p.kind == kind; });
  return found == points.end() ? nullptr : &*found;
}

void set_memory(Device& device, const std::vector<MeasuredPoint>& points) {
  if (const MeasuredPoint* launch = first_of(points, PointKind::kernel_launch)) {
    device.kernel_launch = launch->time();
  }
  if (const MeasuredPoint* copy = first_of(points, PointKind::memory_copy)) {
    device.memory_bandwidth = copy->amount / copy->time();
    device.memory_bandwidth_fraction = 1.0;
    device.memory_provenance = Provenance::measured;
  }
  if (const MeasuredPoint* upload = first_of(points, PointKind::host_link)) {
    device.host_link = upload->amount / upload->time();
  }
}

GemmPoint merged(const std::vector<const MeasuredPoint*>& same_shape) {
  const GemmShape& s = same_shape.front()->shape;
  GemmPoint point;
  point.batch = s.batch;
  point.m = s.m;
  point.n = s.n;
  point.k = s.k;
  double low = INFINITY, high = 0.0, sum = 0.0;
  for (const MeasuredPoint* p : same_shape) {
    const double time = p->time().value();
    low = std::min(low, time);
    high = std::max(high, time);
    sum += time;
    point.relative_spread = std::max(point.relative_spread, spread_of(*p));
  }
  const double mean = sum / static_cast<double>(same_shape.size());
  point.time = seconds(mean);
  point.relative_spread = std::max(point.relative_spread, (high - low) / 2.0 / mean);
  return point;
}

void set_gemms(Device& device, const std::vector<MeasuredPoint>& points, std::vector<Fit>& fits) {
  using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Precision, std::map<Shape, std::vector<const MeasuredPoint*>>> by_precision;
  for (const MeasuredPoint& p : points) {
    if (p.kind != PointKind::gemm) continue;
    by_precision[p.precision][{p.shape.m, p.shape.n, p.shape.k, p.shape.batch}].push_back(&p);
  }
  for (const auto& [precision, shapes] : by_precision) {
    GemmModel model;
    model.precision = precision;
    // A core works an element at a time as far as the model can see; a GPU in large tiles.
    if (device.kind == DeviceKind::cpu) model.tile_m = model.tile_n = 1;
    for (const auto& [shape, same] : shapes) model.points.push_back(merged(same));
    fits.push_back(fit_gemm(model, device));
    device.gemm.push_back(std::move(model));
  }
}

// One rate a kernel: the geometric mean over its sizes. How they differ counts as spread.
void set_kernels(Device& device, const std::vector<MeasuredPoint>& points) {
  std::map<std::string, std::vector<double>> log_rates;
  std::map<std::string, double> noise;
  for (const MeasuredPoint& p : points) {
    if (p.kind != PointKind::kernel) continue;
    const Seconds launches = device.kernel_launch * p.launches;
    const Seconds work = std::max(p.time() - launches, p.time() * 0.05);
    log_rates[p.kernel].push_back(std::log((p.amount / work).value()));
    noise[p.kernel] = std::max(noise[p.kernel], spread_of(p));
  }
  for (const auto& [kernel, logs] : log_rates) {
    double mean = 0.0, variance = 0.0;
    for (const double x : logs) mean += x / static_cast<double>(logs.size());
    for (const double x : logs) variance += (x - mean) * (x - mean);
    if (logs.size() > 1) variance /= static_cast<double>(logs.size() - 1);
    device.kernels.push_back({.kernel = kernel,
                              .rate = bytes_per_second(std::exp(mean)),
                              .relative_spread = in_quadrature(noise[kernel], std::sqrt(variance)),
                              .provenance = Provenance::measured});
  }
}

void set_curves(Link& link, const std::vector<MeasuredPoint>& points, Tier tier) {
  std::map<std::tuple<Collective, int, int, int>, CollectiveCurve> curves;
  for (const MeasuredPoint& p : points) {
    if (p.kind != PointKind::collective || p.tier != tier) continue;
    CollectiveCurve& curve =
        curves[{p.collective, p.group_size, p.ranks_per_node, p.groups_per_node}];
    curve.collective = p.collective;
    curve.group_size = p.group_size;
    curve.ranks_per_node = p.ranks_per_node;
    curve.groups_per_node = p.groups_per_node;
    curve.points.push_back({p.amount, p.time(), spread_of(p)});
  }
  for (auto& [key, curve] : curves) {
    std::sort(curve.points.begin(), curve.points.end(),
              [](const auto& a, const auto& b) { return a.payload < b.payload; });
    link.curves.push_back(std::move(curve));
  }
}

// The median over what was measured beside each other.
void set_overlap(Device& device, const std::vector<MeasuredPoint>& points) {
  std::vector<double> slowdowns;
  for (const MeasuredPoint& p : points) {
    const bool usable = p.kind == PointKind::overlap && !p.measurement.noisy;
    if (usable) slowdowns.push_back(p.overlap_slowdown());
  }
  if (slowdowns.empty()) return;
  device.overlap_slowdown = summarise(std::move(slowdowns)).median.value();
}

const CollectiveCurve* find_curve(const Link& link, const CollectiveCurve& like, int groups) {
  for (const CollectiveCurve& c : link.curves) {
    if (c.collective == like.collective && c.group_size == like.group_size &&
        c.ranks_per_node == like.ranks_per_node && c.groups_per_node == groups) {
      return &c;
    }
  }
  return nullptr;
}

// How many NICs a node has, as far as its ranks can tell: groups of one rank a node, all at once,
// take as much longer than one alone as they share a NIC. From the largest payload; 0: not seen.
int nics_seen(const Cluster& cluster) {
  for (const CollectiveCurve& all : cluster.inter_node.curves) {
    const int ranks = cluster.gpus_per_node;
    if (ranks < 2 || all.ranks_per_node != 1 || all.groups_per_node != ranks) continue;
    const CollectiveCurve* alone = find_curve(cluster.inter_node, all, 1);
    if (alone == nullptr || alone->points.back().payload != all.points.back().payload) continue;
    const double longer = all.points.back().time / alone->points.back().time;
    return std::clamp(static_cast<int>(std::lround(ranks / longer)), 1, ranks);
  }
  return 0;
}

}  // namespace

Assembled assemble(const std::vector<MeasuredPoint>& points, Cluster cluster) {
  Assembled result{.cluster = std::move(cluster), .fits = {}};
  Device& device = result.cluster.device;
  // A CPU core moves its own messages: nothing hides behind its products, unless measured.
  if (device.kind == DeviceKind::cpu) device.overlap_slowdown = 1.0;
  set_memory(device, points);
  set_gemms(device, points, result.fits);
  set_kernels(device, points);
  set_overlap(device, points);
  for (const Tier tier : {Tier::intra_node, Tier::inter_node}) {
    Link& link = tier == Tier::intra_node ? result.cluster.intra_node : result.cluster.inter_node;
    set_curves(link, points, tier);
    if (link.curves.empty()) continue;  // not measured: there is no such link
    if (tier == Tier::inter_node) result.cluster.nics_per_node = nics_seen(result.cluster);
    result.fits.push_back(fit_link(result.cluster, tier));
  }
  return result;
}

}  // namespace meshwright::calibrate
