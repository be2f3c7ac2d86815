// SPDX-License-Identifier: Apache-2.0
// gemm_cost: measured points first, the model between and beyond them.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "sim/base/quadrature.h"
#include "sim/kernel_time/compute.h"
#include "sim/kernel_time/gemm_model.h"

namespace meshwright {
namespace {

// Neighbours that share in an interpolation; one more sets the radius (Renka 1988).
constexpr std::size_t kNeighbours = 6;
// Beyond this distance (in doublings) a point says nothing about the shape any more.
constexpr double kReach = 6.0;

using Log = std::array<double, 4>;

// log2 with a straight line inside each power of two: continuous, monotone, exact at powers of two,
// and far cheaper than std::log2; it only weighs neighbours.
double rough_log2(std::int64_t x) {
  constexpr double kMantissa = 4503599627370496.0;  // 2^52
  constexpr double kBias = 1023.0;
  return static_cast<double>(std::bit_cast<std::int64_t>(static_cast<double>(x))) / kMantissa -
         kBias;
}
Log log_shape(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {rough_log2(batch), rough_log2(m), rough_log2(n), rough_log2(k)};
}

const GemmPoint* exact_point(const GemmShape& s, const std::vector<GemmPoint>& points) {
  const auto key = [](const auto& p) { return std::make_tuple(p.m, p.n, p.k, p.batch); };
  const auto it =
      std::lower_bound(points.begin(), points.end(), s,
                       [&](const GemmPoint& p, const GemmShape& q) { return key(p) < key(q); });
  return it != points.end() && key(*it) == key(s) ? &*it : nullptr;
}

struct Neighbour {
  double distance = kReach;
  const GemmPoint* point = nullptr;
};

struct Neighbourhood {
  std::array<Neighbour, kNeighbours + 1> nearest;  // by distance
  bool inside = false;                             // the box that all points span
};

Neighbourhood look_around(const GemmShape& s, const std::vector<GemmPoint>& points) {
  Neighbourhood found;
  const Log at = log_shape(s.batch, s.m, s.n, s.k);
  Log low = at, high = at;
  low.fill(1e9);
  high.fill(-1e9);
  for (const GemmPoint& p : points) {
    const Log x = log_shape(p.batch, p.m, p.n, p.k);
    double squared = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      squared += (x[i] - at[i]) * (x[i] - at[i]);
      low[i] = std::min(low[i], x[i]);
      high[i] = std::max(high[i], x[i]);
    }
    Neighbour candidate{std::sqrt(squared), &p};
    for (Neighbour& slot : found.nearest) {
      if (candidate.distance < slot.distance) std::swap(candidate, slot);
    }
  }
  found.inside = true;
  for (std::size_t i = 0; i < at.size(); ++i) {
    found.inside = found.inside && low[i] <= at[i] && at[i] <= high[i];
  }
  return found;
}

double measured_over_model(const GemmPoint& p, const GemmModel& model, const Device& device) {
  return p.time / gemm_model_time({p.batch, p.m, p.n, p.k}, model, device);
}

// The model, corrected by how far its neighbours were off: Shepard's weights with a finite radius,
// ((R - d) / (R d))^2, on the logarithm of measured / model.
Cost corrected(const GemmShape& s, const GemmModel& model, const Device& device) {
  const Seconds modelled = gemm_model_time(s, model, device);
  const Neighbourhood around = look_around(s, model.points);
  const double radius = around.nearest.back().distance;
  double weights = 0.0, log_ratio = 0.0, spread = 0.0;
  for (const Neighbour& near : around.nearest) {
    if (near.point == nullptr || near.distance >= radius) continue;
    const double root = (radius - near.distance) / (radius * near.distance);
    weights += root * root;
    log_ratio += root * root * std::log(measured_over_model(*near.point, model, device));
    spread += root * root * near.point->relative_spread;
  }
  if (weights <= 0.0) return {modelled, model.relative_spread, Provenance::extrapolated};
  // One doubling away the model's own residual counts in full.
  const double away = std::min(1.0, around.nearest.front().distance);
  return {modelled * std::exp(log_ratio / weights),
          in_quadrature(spread / weights, model.relative_spread * away),
          around.inside ? Provenance::interpolated : Provenance::extrapolated};
}

}  // namespace

Cost gemm_cost(GemmShape shape, Precision precision, const Device& device) {
  if (gemm_flops(shape).value() <= 0.0) return {};
  const GemmModel& model = gemm_model_for(device, precision);
  const auto sixteen_bit = [](Precision p) { return p == Precision::fp16 || p == Precision::bf16; };
  const bool own =
      model.precision == precision || (sixteen_bit(model.precision) && sixteen_bit(precision));
  if (model.points.empty()) {
    return {gemm_model_time(shape, model, device), model.relative_spread,
            own ? model.provenance : Provenance::assumed};
  }
  if (const GemmPoint* p = exact_point(shape, model.points)) {
    return {p->time, p->relative_spread, own ? Provenance::measured : Provenance::assumed};
  }
  Cost cost = corrected(shape, model, device);
  if (!own) cost.provenance = Provenance::assumed;
  return cost;
}

}  // namespace meshwright
