// SPDX-License-Identifier: Apache-2.0
// Which points a calibration measures, and in which order: what weighs most in a step first, so
// that a short budget leaves out what matters least. Pure. Between the kinds of points the budget
// decides (calibrate/budget.h).
//
// Order: launch cost, memory, small products of each number format, kernels; then what the model
// needs, products and collectives together, by their seconds a step at nominal rates; then the
// general grid, from coarse to fine: all in the first number format, then products in the others.
#pragma once

#include <functional>
#include <vector>

#include "calibrate/bench/gemm_bench.h"
#include "calibrate/measure/group_shapes.h"
#include "calibrate/measure/kernel_sizes.h"
#include "calibrate/measure/points.h"
#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {

struct GemmDemand {
  GemmVariant variant;
  double calls = 1.0;  // a step, the mean over the layouts that are considered
};
struct CollectiveDemand {
  Collective collective = Collective::all_reduce;
  int group_size = 2;
  Bytes payload;
  double calls = 1.0;
};

// What a model's layouts will run; without it, a general grid alone is measured. The same thing may
// be named often: calls add up.
struct Workload {
  std::vector<GemmDemand> gemms{};
  std::vector<KernelSizes> kernels{};
  std::vector<CollectiveDemand> collectives{};
  std::vector<Precision> precisions{Precision::fp32, Precision::bf16};
};

// What this machine can be asked for.
struct SweepLimits {
  Bytes memory;  // of one rank
  DeviceKind device = DeviceKind::cpu;
  double budget_seconds = 60.0;
  Bytes largest_payload = mebibytes(64);
  std::function<bool(Precision)> supports = [](Precision) { return true; };
};

// Without measurements, each once; at most kMostPoints, so that a profile stays below a megabyte.
inline constexpr std::size_t kMostPoints = 2000;
std::vector<MeasuredPoint> planned_points(const Workload& workload,
                                          const std::vector<GroupShape>& shapes,
                                          const SweepLimits& limits);

// Measured however short the budget is: without them there is no profile.
bool is_essential(const MeasuredPoint& point);

// Shapes from vectors to large squares. A GPU gets larger ones.
std::vector<GemmVariant> general_gemms(DeviceKind kind);

// 1 KiB to `largest` in powers of two.
std::vector<Bytes> payloads(Bytes largest);

// The payload rounded down to whole elements for each rank, at least one: 1 KiB is 256 of 4 bytes.
Bytes whole_payload(Bytes payload, int group_size);

}  // namespace meshwright::calibrate
