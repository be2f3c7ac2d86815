// SPDX-License-Identifier: Apache-2.0
#include "calibrate/gemm_points.h"

#include "calibrate/nominal_rates.h"

namespace meshwright::calibrate {
namespace {

constexpr double kSustainedBudget = 30.0;  // seconds; less has no time for seconds of one product

MeasuredPoint gemm_point(const GemmVariant& variant, Precision precision) {
  return {.subject = timed::Gemm{{precision, variant}},
          .amount = gemm_memory(variant.shape, precision)};
}

bool fits(const GemmShape& shape, Precision precision, const SweepLimits& limits) {
  // One product may take a hundredth of the budget, at a rate that any core or GPU reaches.
  const FlopsPerSecond slow =
      nominal_rates(limits.device).products / (limits.device == DeviceKind::gpu ? 6.0 : 2.0);
  return gemm_memory(shape, precision) <= limits.bench_memory() &&
         gemm_flops(shape) / slow <= seconds(limits.budget_seconds / 100.0);
}

// fp8 units take whole tiles of 16 (cuBLASLt's rule for its fp8 kernels).
bool multiplies(const GemmShape& s, Precision precision, const SweepLimits& limits) {
  const bool whole_tiles = s.m % 16 == 0 && s.n % 16 == 0 && s.k % 16 == 0;
  return limits.supports(precision) && (precision != Precision::fp8 || whole_tiles);
}

}  // namespace

std::vector<MeasuredPoint> gemm_points(std::span<const GemmVariant> variants,
                                       std::span<const Precision> precisions,
                                       const SweepLimits& limits) {
  std::vector<MeasuredPoint> points;
  for (const GemmVariant& variant : variants) {
    for (const Precision precision : precisions) {
      if (!fits(variant.shape, precision, limits)) continue;
      if (multiplies(variant.shape, precision, limits)) {
        points.push_back(gemm_point(variant, precision));
      }
    }
  }
  return points;
}

std::vector<MeasuredPoint> sustained_points(std::span<const Precision> precisions,
                                            const SweepLimits& limits) {
  if (limits.device == DeviceKind::cpu || limits.budget_seconds < kSustainedBudget) return {};
  std::vector<MeasuredPoint> points;
  for (const Precision precision : precisions) {
    GemmVariant largest;
    for (const GemmVariant& variant : general_gemms(limits.device)) {
      if (gemm_flops(variant.shape) <= gemm_flops(largest.shape)) continue;
      if (fits(variant.shape, precision, limits)) largest = variant;
    }
    if (gemm_flops(largest.shape).value() <= 0.0) continue;
    MeasuredPoint point = gemm_point(largest, precision);
    points.push_back(point);
    point.subject = timed::SustainedGemm{{precision, largest}};
    points.push_back(point);
  }
  return points;
}

}  // namespace meshwright::calibrate
