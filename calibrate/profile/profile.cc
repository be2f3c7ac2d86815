// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "calibrate/fit/attention_fit.h"
#include "calibrate/fit/dispatch_fit.h"
#include "calibrate/fit/serving_fit.h"
#include "calibrate/measure/deepep.h"
#include "calibrate/profile/stand_ins.h"
#include "calibrate/profile/system_noise.h"
#include "sim/base/quadrature.h"
#include "sim/base/statistics.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/device.h"
#include "sim/kernel_time/compute.h"

namespace meshwright::calibrate {
namespace {

// A measurement cannot be surer than the machine is steady from one minute to the next.
constexpr double kLeastSpread = 0.01;

double spread_of(const MeasuredPoint& point) {
  return std::max(kLeastSpread, point.measurement.summary.relative_spread);
}

template <typename T>
const MeasuredPoint* first_of(const std::vector<MeasuredPoint>& points) {
  const auto found =
      std::find_if(points.begin(), points.end(), [](const MeasuredPoint& p) { return p.is<T>(); });
  return found == points.end() ? nullptr : &*found;
}

// One way at a time, the slower of both.
void set_host_link(Device& device, const std::vector<MeasuredPoint>& points) {
  std::optional<BytesPerSecond> slower;
  for (const MeasuredPoint& p : points) {
    const auto* link = p.as<timed::HostLink>();
    if (link == nullptr || link->direction == HostDirection::both) continue;
    const BytesPerSecond rate = p.amount / p.time();
    slower = slower ? std::min(*slower, rate) : rate;
  }
  if (slower) device.host_link = *slower;
}

// A bandwidth that the cluster states, of a datasheet, stays what shares are of.
void set_memory(Device& device, const std::vector<MeasuredPoint>& points) {
  if (const MeasuredPoint* launch = first_of<timed::KernelLaunch>(points)) {
    device.kernel_launch = launch->time();
  }
  // Below what a framework's own launch takes: a higher number that the cluster states stays.
  if (const MeasuredPoint* host = first_of<timed::HostLaunch>(points)) {
    device.host_launch = std::max(device.host_launch, host->time());
  }
  if (const MeasuredPoint* copy = first_of<timed::MemoryCopy>(points)) {
    const BytesPerSecond rate = copy->amount / copy->time();
    // Faster than stated, it was no datasheet's.
    device.memory_bandwidth = std::max(device.memory_bandwidth, rate);
    device.memory_bandwidth_fraction = rate / device.memory_bandwidth;
    device.memory_provenance = Provenance::measured;
  }
  set_host_link(device, points);
}

// The largest products again after a second of them: how much longer they take is what the clock
// lost. A cluster that already knows of training steps may know of more than the clock: the smaller
// fraction stands.
void set_sustained_clock(Device& device, const std::vector<MeasuredPoint>& points) {
  std::vector<double> fractions;
  for (const MeasuredPoint& sustained : points) {
    const auto* settled = sustained.as<timed::SustainedGemm>();
    if (settled == nullptr) continue;
    MeasuredPoint burst = sustained;
    burst.subject = timed::Gemm{settled->product};
    const auto found = std::find_if(points.begin(), points.end(),
                                    [&](const MeasuredPoint& p) { return same_subject(p, burst); });
    if (found != points.end()) fractions.push_back(found->time() / sustained.time());
  }
  if (fractions.empty()) return;
  const double measured = median(std::move(fractions));
  device.sustained_clock_fraction = std::min(device.sustained_clock_fraction, measured);
}

GemmPoint merged_gemm(const std::vector<const MeasuredPoint*>& same_shape) {
  const GemmShape& s = same_shape.front()->as<timed::Gemm>()->product.variant.shape;
  GemmPoint point;
  point.batch = s.batch;
  point.m = s.m;
  point.n = s.n;
  point.k = s.k;
  std::vector<double> times;
  for (const MeasuredPoint* p : same_shape) {
    times.push_back(p->time().value());
    point.relative_spread = std::max(point.relative_spread, spread_of(*p));
  }
  const auto [low, high] = std::minmax_element(times.begin(), times.end());
  const double middle = mean(times);
  point.time = seconds(middle);
  point.relative_spread = std::max(point.relative_spread, (*high - *low) / 2.0 / middle);
  return point;
}

// The element of `list` that `is_it` means; a new one where there is none.
template <typename Item, typename IsIt>
Item& found_or_added(std::vector<Item>& list, const IsIt& is_it, Item fresh) {
  const auto found = std::find_if(list.begin(), list.end(), is_it);
  if (found != list.end()) return *found;
  list.push_back(std::move(fresh));
  return list.back();
}

GemmModel fresh_model(Precision precision, DeviceKind kind) {
  GemmModel model;
  model.precision = precision;
  // A core works an element at a time as far as the model can see; a GPU in large tiles.
  if (kind == DeviceKind::cpu) model.tile_m = model.tile_n = 1;
  return model;
}

// Over an older time of the same shape; sorted as readers want them.
void put(std::vector<GemmPoint>& points, const GemmPoint& point) {
  const auto key = [](const GemmPoint& p) { return std::make_tuple(p.m, p.n, p.k, p.batch); };
  const auto at =
      std::lower_bound(points.begin(), points.end(), point,
                       [&](const GemmPoint& a, const GemmPoint& b) { return key(a) < key(b); });
  if (at != points.end() && key(*at) == key(point)) {
    *at = point;
  } else {
    points.insert(at, point);
  }
}

void set_gemms(Device& device, const std::vector<MeasuredPoint>& points, std::vector<Fit>& fits) {
  using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Precision, std::map<Shape, std::vector<const MeasuredPoint*>>> by_precision;
  for (const MeasuredPoint& p : points) {
    const auto* gemm = p.as<timed::Gemm>();
    if (gemm == nullptr) continue;
    const GemmShape& s = gemm->product.variant.shape;
    by_precision[gemm->product.precision][{s.m, s.n, s.k, s.batch}].push_back(&p);
  }
  for (const auto& [precision, shapes] : by_precision) {
    GemmModel& model = found_or_added(
        device.gemm, [p = precision](const GemmModel& m) { return m.precision == p; },
        fresh_model(precision, device.kind));
    for (const auto& [shape, same] : shapes) put(model.points, merged_gemm(same));
    fits.push_back(fit_gemm(model, device));
  }
}

// What a cluster file may state.
constexpr double kLeastGroupedFactor = 0.01, kMostGroupedFactor = 100.0;
// Of each format the geometric mean over the sizes, in place of an older one.
void set_grouped_gemms(Device& device, const std::vector<MeasuredPoint>& points) {
  std::map<Precision, std::vector<double>> logs;
  for (const MeasuredPoint& p : points) {
    const auto* grouped = p.as<timed::GroupedGemm>();
    if (grouped == nullptr) continue;
    const Precision precision = grouped->product.precision;
    const Cost batched = gemm_cost(grouped->product.variant.shape, precision, device);
    if (batched.time > seconds(0)) logs[precision].push_back(std::log(p.time() / batched.time));
  }
  for (const auto& [precision, of_format] : logs) {
    const GroupedGemmRate rate{
        .precision = precision,
        .time_factor =
            std::clamp(std::exp(mean(of_format)), kLeastGroupedFactor, kMostGroupedFactor),
        .relative_spread = std::max(kLeastSpread, standard_deviation(of_format))};
    const auto same = [&rate](const GroupedGemmRate& r) { return r.precision == rate.precision; };
    found_or_added(device.grouped_gemm, same, rate) = rate;
  }
}

// A GPU's kernels here work on fp32 with plain loads, and no two of a step's are fused. Frameworks'
// own, of 16 bits, move at least as many bytes a second: a bound, which a cluster's higher rate
// beats.
constexpr double kBoundSpread = 0.2;
KernelRate as_bound(KernelRate measured, const KernelRate& known) {
  if (known.rate > measured.rate) return known;
  measured.relative_spread = std::max(measured.relative_spread, kBoundSpread);
  measured.provenance = Provenance::extrapolated;
  return measured;
}

// Ascending; of two of one traffic the first.
std::vector<KernelPoint> by_traffic(std::vector<KernelPoint> points) {
  const auto less = [](const KernelPoint& a, const KernelPoint& b) {
    return a.traffic < b.traffic;
  };
  std::stable_sort(points.begin(), points.end(), less);
  const auto same = [](const KernelPoint& a, const KernelPoint& b) {
    return a.traffic == b.traffic;
  };
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
  return points;
}

// What one launch of a timed kernel moves, and how fast.
KernelPoint kernel_point(const MeasuredPoint& p, const timed::Kernel& kernel,
                         const Device& device) {
  const Seconds launches = device.kernel_launch * kernel.launches;
  const Seconds work = std::max(p.time() - launches, p.time() * 0.05);
  return {p.amount / static_cast<double>(kernel.launches), p.amount / work, spread_of(p)};
}

// One rate a kernel: the geometric mean over its sizes. How they differ counts as spread, but for
// cores, which keep the rate of each size: what a core's cache holds is several times as fast.
void set_kernels(Device& device, const std::vector<MeasuredPoint>& points) {
  std::map<std::string, std::vector<KernelPoint>> by_kernel;
  for (const MeasuredPoint& p : points) {
    const auto* kernel = p.as<timed::Kernel>();
    if (kernel == nullptr) continue;
    const std::string priced(priced_kernel(kernel->name));
    by_kernel[priced].push_back(kernel_point(p, *kernel, device));
  }
  const bool cores = device.kind == DeviceKind::cpu;
  for (auto& [kernel, sizes] : by_kernel) {
    std::vector<double> logs;
    double noise = 0.0;
    for (const KernelPoint& size : sizes) {
      logs.push_back(std::log(size.rate.value()));
      noise = std::max(noise, size.relative_spread);
    }
    KernelRate rate{.kernel = kernel,
                    .rate = bytes_per_second(std::exp(mean(logs))),
                    .relative_spread = in_quadrature(noise, standard_deviation(logs)),
                    .provenance = Provenance::measured};
    if (cores) rate.points = by_traffic(std::move(sizes));
    const auto same = [&rate](const KernelRate& k) { return k.kernel == rate.kernel; };
    KernelRate& known = found_or_added(device.kernels, same, rate);
    known = cores ? rate : as_bound(rate, known);
  }
}

// Micro-batches of one size are one: the optimizer does not see the tokens.
void set_step_remainders(Device& device, const std::vector<MeasuredPoint>& points) {
  std::map<std::pair<ComputePass, std::int64_t>, std::vector<StepRemainder>> passes;
  for (const MeasuredPoint& p : points) {
    const auto* step = p.as<timed::StepPass>();
    if (step == nullptr || step->operators <= seconds(0)) continue;
    const std::int64_t tokens = step->pass == ComputePass::optimizer ? 1 : step->tokens;
    passes[{step->pass, tokens}].push_back(
        {step->pass, tokens, p.time() / step->operators - 1.0, spread_of(p)});
  }
  if (passes.empty()) return;
  device.step_remainders.clear();
  for (const auto& [key, same] : passes) {
    std::vector<double> shares;
    StepRemainder all = same.front();
    for (const StepRemainder& r : same) {
      shares.push_back(r.share);
      all.relative_spread = std::max(all.relative_spread, r.relative_spread);
    }
    all.relative_spread = in_quadrature(all.relative_spread, standard_deviation(shares));
    // A small pass of a loaded host may take many times its operators.
    all.share = std::clamp(mean(shares), kLeastRemainderShare, kMostRemainderShare);
    device.step_remainders.push_back(all);
  }
}

// Which link of the cluster a collective is of. Where neighbours have a faster one of their own,
// only groups that lie inside an island go over it, and what crosses islands is the node's;
// elsewhere ranks that are no neighbours take the same way as those that are, and are not counted
// twice.
const Link* measured_link_of(const GroupCall& call, const Cluster& cluster) {
  if (is_deepep(call)) return nullptr;  // no collective of NCCL's
  if (call.tier == Tier::inter_node) return &cluster.inter_node;
  const int island = cluster.gpus_per_island;
  if (island > 0 && call.stride == 1 && call.group_size <= island) return &cluster.island;
  return call.stride > 1 && island == 0 ? nullptr : &cluster.intra_node;
}

void set_curves(Link& link, const Cluster& cluster, const std::vector<MeasuredPoint>& points) {
  std::map<std::tuple<Collective, int, int, int>, CollectiveCurve> curves;
  for (const MeasuredPoint& p : points) {
    const auto* collective = p.as<timed::CollectiveCall>();
    if (collective == nullptr || measured_link_of(collective->call, cluster) != &link) continue;
    const GroupCall& call = collective->call;
    CollectiveCurve& curve =
        curves[{call.collective, call.group_size, call.ranks_per_node, call.groups_per_node}];
    curve.collective = call.collective;
    curve.group_size = call.group_size;
    curve.ranks_per_node = call.ranks_per_node;
    curve.groups_per_node = call.groups_per_node;
    curve.points.push_back({p.amount, p.time(), spread_of(p)});
  }
  for (auto& [key, curve] : curves) {
    std::sort(curve.points.begin(), curve.points.end(),
              [](const auto& a, const auto& b) { return a.payload < b.payload; });
    const auto same = [&c = curve](const CollectiveCurve& older) {
      return older.collective == c.collective && older.group_size == c.group_size &&
             older.ranks_per_node == c.ranks_per_node && older.groups_per_node == c.groups_per_node;
    };
    found_or_added(link.curves, same, CollectiveCurve{}) = std::move(curve);
  }
}

// The median over what was measured beside each other.
void set_overlap(Device& device, const std::vector<MeasuredPoint>& points) {
  std::vector<double> slowdowns;
  for (const MeasuredPoint& p : points) {
    const auto* overlap = p.as<timed::Overlap>();
    if (overlap != nullptr && !p.measurement.noisy)
      slowdowns.push_back(overlap->slowdown(p.time()));
  }
  if (slowdowns.empty()) return;
  device.overlap_slowdown = median(std::move(slowdowns));
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

// Number of NICs of a node, from its ranks. Groups of one rank per node, all at once, take as much
// longer than one alone as ranks share a NIC. Uses the largest payload; 0: not measured.
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

Assembled assemble(const std::vector<MeasuredPoint>& measured, Cluster cluster) {
  Assembled result{.cluster = std::move(cluster), .fits = {}, .inference = {}};
  Device& device = only_device(result.cluster);
  const bool core = device.kind == DeviceKind::cpu;
  // A CPU core moves its own messages: nothing hides behind its products, unless measured.
  if (core) device.overlap_slowdown = 1.0;
  // It works for others, too; a GPU is its job's alone.
  const SystemNoise noise =
      core ? system_noise(measured, result.cluster.num_gpus()) : SystemNoise{};
  const std::vector<MeasuredPoint> points = with_system_noise(measured, noise);
  if (core) device.time_jitter = noise.time_jitter;
  set_memory(device, points);
  set_gemms(device, points, result.fits);
  add_stand_ins(device);
  set_grouped_gemms(device, points);
  for (Fit& fit : fit_attention(device, points)) result.fits.push_back(std::move(fit));
  result.inference = fit_serving(device, points, result.fits);
  set_kernels(device, points);
  set_step_remainders(device, points);
  set_overlap(device, points);
  set_sustained_clock(device, points);
  set_curves(result.cluster.island, result.cluster, points);
  for (const Tier tier : {Tier::intra_node, Tier::inter_node}) {
    Link& link = tier == Tier::intra_node ? result.cluster.intra_node : result.cluster.inter_node;
    set_curves(link, result.cluster, points);
    if (link.curves.empty()) continue;  // not measured: there is no such link
    if (tier == Tier::inter_node && result.cluster.nics_per_node == 0) {
      result.cluster.nics_per_node = nics_seen(result.cluster);
    }
    result.fits.push_back(fit_link(result.cluster, tier));
  }
  fit_dispatch(result.cluster, points, result.fits);
  result.inference.dispatch = fit_low_latency(result.cluster, points);
  if (!result.inference.dispatch.empty() && result.inference.source.empty()) {
    result.inference.source = "measured by DeepEP's tests";
  }
  return result;
}

}  // namespace meshwright::calibrate
