// SPDX-License-Identifier: Apache-2.0
#include "calibrate/demand_points.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "calibrate/collective_points.h"
#include "calibrate/gemm_points.h"
#include "calibrate/nominal_rates.h"

namespace meshwright::calibrate {
namespace {

// A model's collectives come in hundreds of sizes; the grid interpolates the lighter ones.
constexpr std::size_t kMostDemands = 64;

std::vector<GemmDemand> summed_gemms(const Workload& workload) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool, bool,
                         FreshOperands, double>;
  std::map<Key, GemmDemand> sums;
  for (const GemmDemand& d : workload.gemms) {
    const GemmVariant& v = d.variant;
    const Key key{v.shape.batch, v.shape.m,     v.shape.n,
                  v.shape.k,     v.transpose_a, v.transpose_b,
                  v.accumulate,  v.fresh,       v.reused_after.value()};
    GemmDemand& sum = sums.try_emplace(key, GemmDemand{v, 0.0}).first->second;
    sum.calls += d.calls;
  }
  std::vector<GemmDemand> result;
  for (const auto& [key, demand] : sums) result.push_back(demand);
  return result;
}

std::vector<CollectiveDemand> summed_collectives(const Workload& workload,
                                                 const SweepLimits& limits) {
  std::map<std::tuple<Collective, int, double>, CollectiveDemand> sums;
  for (const CollectiveDemand& d : workload.collectives) {
    CollectiveDemand whole = d;
    whole.payload = whole_payload(d.payload, d.group_size);
    if (whole.payload < kibibytes(1) || whole.payload > limits.largest_payload) continue;
    whole.calls = 0.0;
    const std::tuple key{d.collective, d.group_size, whole.payload.value()};
    sums.try_emplace(key, whole).first->second.calls += d.calls;
  }
  std::vector<CollectiveDemand> result;
  for (const auto& [key, demand] : sums) result.push_back(demand);
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
    return a.payload * a.calls > b.payload * b.calls;
  });
  if (result.size() > kMostDemands) result.resize(kMostDemands);
  return result;
}

// The points of one product or collective.
struct Demand {
  double influence = 0.0;  // seconds a step at nominal rates
  std::vector<MeasuredPoint> points{};
};

}  // namespace

std::vector<MeasuredPoint> demand_points(const Workload& workload,
                                         const std::vector<GroupShape>& shapes,
                                         std::span<const Precision> precisions,
                                         const SweepLimits& limits) {
  const NominalRates rates = nominal_rates(limits.device);
  std::vector<Demand> demands;
  for (const GemmDemand& d : summed_gemms(workload)) {
    demands.push_back({(nominal_time(d, rates) * d.calls).value(),
                       gemm_points(std::span(&d.variant, 1), precisions, limits)});
  }
  for (const CollectiveDemand& d : summed_collectives(workload, limits)) {
    demands.push_back({(nominal_time(d, rates) * d.calls).value(), collective_points(d, shapes)});
  }
  std::stable_sort(demands.begin(), demands.end(),
                   [](const Demand& a, const Demand& b) { return a.influence > b.influence; });
  std::vector<MeasuredPoint> points;
  for (const Demand& d : demands) points.insert(points.end(), d.points.begin(), d.points.end());
  return points;
}

}  // namespace meshwright::calibrate
