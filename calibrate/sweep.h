// SPDX-License-Identifier: Apache-2.0
// Chooses the points of a calibration and their order. Points with the largest share of a step come
// first, so a short budget omits those that matter least. Pure. The budget decides between the
// kinds of points (calibrate/budget.h).
//
// Order: launch costs, memory, small products of each number format, steps of an inference engine
// and attention over its cache where a service is asked for, kernels; then what the model needs,
// products and collectives together, by their seconds a step at nominal rates; then the general
// grid, from coarse to fine: all in the first number format, then products in the others. Of a GPU
// also the largest products of each format, sustained.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "calibrate/bench/gemm_bench.h"
#include "calibrate/grid.h"
#include "calibrate/library_points.h"
#include "calibrate/measure/group_shapes.h"
#include "calibrate/measure/kernel_sizes.h"
#include "calibrate/measure/points.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "sim/serving/engine.h"

namespace meshwright::calibrate {

struct GemmDemand {
  GemmVariant variant;
  double calls = 1.0;  // a step, the mean over the layouts that are considered
};
struct CollectiveDemand {
  Collective collective = Collective::all_reduce;
  int group_size = 2;  // number of ranks
  Bytes payload;
  double calls = 1.0;  // calls per step
};

// A step that one rank runs alone: a model of few enough layers, one micro-batch.
struct StepDemand {
  Model model;
  Job job;
  Layout layout;
};

// A replica of the trial's engine whose whole steps are timed.
struct ServiceDemand {
  Model model;  // of few enough layers
  Engine engine;
  int tensor_parallel_size = 1, pipeline_parallel_size = 1;
};

// GEMMs and collectives that a model's layouts will run. Without it, only a general grid is
// measured. Repeated entries add up their calls.
struct Workload {
  std::vector<GemmDemand> gemms{};
  std::vector<KernelSizes> kernels{};
  std::set<std::string, std::less<>> kernel_names{};  // that the model runs; empty: all
  std::vector<CollectiveDemand> collectives{};
  std::vector<Precision> precisions{};                  // that the model's job multiplies in
  std::vector<PagedAttentionShape> paged_attentions{};  // of a service, by weight
  std::vector<EngineStepShape> engine_steps{};
  std::vector<CacheCopyShape> cache_copies{};  // where there is more than one rank
  std::vector<StepDemand> steps{};             // of cores: each size of a micro-batch, ascending
  std::vector<ServiceDemand> services{};       // of cores
  std::vector<AttentionShape> attentions{};    // fused, forward
  std::vector<GemmVariant> grouped_gemms{};    // forward products of experts
};

// Share of a rank's memory for the two arrays of one copy, or for one GEMM.
inline constexpr double kBenchMemoryShare = 1.0 / 8.0;

// Limits of this machine.
struct SweepLimits {
  Bytes memory;  // of one rank
  DeviceKind device = DeviceKind::cpu;
  double budget_seconds = 60.0;  // time for the whole calibration
  Bytes largest_payload = mebibytes(64);
  std::function<bool(Precision)> supports = [](Precision) { return true; };
  LibraryAbilities library{};
  [[nodiscard]] Bytes bench_memory() const { return memory * kBenchMemoryShare; }
};

// Without measurements, each once; at most kMostPoints, so that a profile stays below a megabyte.
inline constexpr std::size_t kMostPoints = 2000;
std::vector<MeasuredPoint> planned_points(const Workload& workload,
                                          const std::vector<GroupShape>& shapes,
                                          const SweepLimits& limits);

// Of each of `points` the share that the workload's calls of it have in a step, all at nominal
// rates; 0 where it has none. Of kernels the share is not known: 0.
std::vector<double> step_shares(const Workload& workload, const std::vector<MeasuredPoint>& points,
                                DeviceKind device);

// The number formats to measure, the job's first, and what a device is asked for besides: 16 bits,
// in which fp8 jobs run attention, the router and the output layer; without a job fp8, too; of a
// core fp32, in which trials run. Only what it supports.
std::vector<Precision> measured_precisions(const Workload& workload, const SweepLimits& limits);

// Measured however short the budget is: without them there is no profile.
bool is_essential(const MeasuredPoint& point);

}  // namespace meshwright::calibrate
