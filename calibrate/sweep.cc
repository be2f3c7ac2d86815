// SPDX-License-Identifier: Apache-2.0
#include "calibrate/sweep.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "calibrate/collective_points.h"
#include "calibrate/demand_points.h"
#include "calibrate/device_points.h"
#include "calibrate/gemm_points.h"
#include "calibrate/nominal_rates.h"

namespace meshwright::calibrate {
namespace {

constexpr std::int64_t kEssentialEdge = 256;
constexpr std::array<GemmVariant, 2> kFirstGemms{
    GemmVariant{.shape = {1, kEssentialEdge, kEssentialEdge, kEssentialEdge}},
    GemmVariant{.shape = {1, 512, 512, 512}}};

// Points in order, each subject once.
class PointList {
 public:
  void add(const std::vector<MeasuredPoint>& points) {
    for (const MeasuredPoint& point : points) {
      const bool known = std::any_of(points_.begin(), points_.end(), [&](const MeasuredPoint& p) {
        return same_subject(p, point);
      });
      if (!known) points_.push_back(point);
    }
  }
  std::vector<MeasuredPoint> first(std::size_t most) {
    if (points_.size() > most) points_.resize(most);
    return std::move(points_);
  }

 private:
  std::vector<MeasuredPoint> points_;
};

void add_model_and_grid(PointList& points, const Workload& workload,
                        const std::vector<GroupShape>& shapes,
                        std::span<const Precision> precisions, const SweepLimits& limits) {
  points.add(demand_points(workload, shapes, precisions, limits));
  points.add(collective_grid(Grid::coarse, shapes, limits));
  points.add(overlap_points(shapes, limits));
  points.add(gemm_points(general_gemms(limits.device), precisions, limits));
}

}  // namespace

std::vector<MeasuredPoint> planned_points(const Workload& workload,
                                          const std::vector<GroupShape>& shapes,
                                          const SweepLimits& limits) {
  PointList points;
  points.add(memory_points(limits));
  const std::vector<Precision> precisions = measured_precisions(workload, limits);
  const std::span<const Precision> all(precisions);
  points.add(gemm_points(kFirstGemms, all, limits));
  points.add(serving_points(workload, !shapes.empty(), limits));
  points.add(kernel_points(workload, limits));
  points.add(library_points(workload, limits));
  const std::size_t first = std::min<std::size_t>(1, all.size());
  add_model_and_grid(points, workload, shapes, all.first(first), limits);
  points.add(sustained_points(all, limits));
  points.add(collective_grid(Grid::fine, shapes, limits));
  add_model_and_grid(points, workload, shapes, all.subspan(first), limits);
  return points.first(kMostPoints);
}

std::vector<double> step_shares(const Workload& workload, const std::vector<MeasuredPoint>& points,
                                DeviceKind device) {
  const NominalRates rates = nominal_rates(device);
  double step = 0.0;
  std::vector<double> shares(points.size(), 0.0);
  const auto add = [&](double influence, const auto& is_it) {
    step += influence;
    const auto found = std::find_if(points.begin(), points.end(), is_it);
    if (found != points.end())
      shares[static_cast<std::size_t>(found - points.begin())] += influence;
  };
  for (const GemmDemand& d : workload.gemms) {
    add((nominal_time(d, rates) * d.calls).value(), [&](const MeasuredPoint& p) {
      const auto* gemm = p.as<timed::Gemm>();
      return gemm != nullptr && gemm->product.variant == d.variant;
    });
  }
  for (const CollectiveDemand& d : workload.collectives) {
    const Bytes payload = whole_payload(d.payload, d.group_size);
    add((nominal_time(d, rates) * d.calls).value(), [&](const MeasuredPoint& p) {
      const auto* call = p.as<timed::CollectiveCall>();
      return call != nullptr && call->call.collective == d.collective &&
             call->call.group_size == d.group_size && p.amount == payload;
    });
  }
  for (double& share : shares) share = step > 0.0 ? share / step : 0.0;
  return shares;
}

std::vector<Precision> measured_precisions(const Workload& workload, const SweepLimits& limits) {
  std::vector<Precision> wanted = workload.precisions;
  if (limits.device == DeviceKind::cpu) {
    wanted.insert(wanted.end(), {Precision::fp32, Precision::bf16});
  } else {
    wanted.push_back(Precision::bf16);
    const auto is_fp4 = [](Precision p) { return p == Precision::fp4; };
    const bool asks_fp8 =
        workload.precisions.empty() ||
        std::any_of(wanted.begin(), wanted.end(), is_fp4);  // nobody has an fp4 product
    if (asks_fp8) wanted.push_back(Precision::fp8);
  }
  std::vector<Precision> precisions;
  for (const Precision p : wanted) {
    const bool known = std::find(precisions.begin(), precisions.end(), p) != precisions.end();
    if (!known && limits.supports(p)) precisions.push_back(p);
  }
  return precisions;
}

bool is_essential(const MeasuredPoint& point) {
  if (const auto* gemm = point.as<timed::Gemm>()) {
    const GemmShape& s = gemm->product.variant.shape;
    return s.m == kEssentialEdge && s.n == kEssentialEdge && s.k == kEssentialEdge;
  }
  return point.is<timed::KernelLaunch>() || point.is<timed::MemoryCopy>();
}

}  // namespace meshwright::calibrate
