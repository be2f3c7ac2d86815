// SPDX-License-Identifier: Apache-2.0
// One accelerator (or one CPU core): how fast it multiplies, moves and launches, and where each
// number came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/job.h"
#include "sim/base/spread.h"
#include "sim/base/units.h"
#include "sim/hardware/limits.h"

namespace meshwright {

// Where a number came from, best first. A sum is as good as its weakest part.
enum class Provenance { measured, interpolated, fitted, extrapolated, datasheet, assumed };
inline constexpr std::array kProvenanceNames{EnumName{Provenance::measured, "measured"},
                                             EnumName{Provenance::interpolated, "interpolated"},
                                             EnumName{Provenance::fitted, "fitted"},
                                             EnumName{Provenance::extrapolated, "extrapolated"},
                                             EnumName{Provenance::datasheet, "datasheet"},
                                             EnumName{Provenance::assumed, "assumed"}};
constexpr std::string_view name_of(Provenance v) { return name_in(kProvenanceNames, v); }

constexpr Provenance weakest(Provenance a, Provenance b) { return a < b ? b : a; }

// A predicted time with what stands behind it.
struct Cost {
  Seconds time;
  double relative_spread = 0.0;  // one standard deviation, relative
  Provenance provenance = Provenance::measured;
};

struct GemmPoint {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  Seconds time;                  // median of the slowest rank
  double relative_spread = 0.0;  // (p90 - p10) / (2.563 * median): a standard deviation if normal
  bool operator==(const GemmPoint&) const = default;
};

// How one number format multiplies: time = kernel launch + norm(compute, bytes / memory bandwidth).
// compute = waves * (k + ramp_k) * (2 * tile_m * tile_n / (peak * sustained_fraction / SMs) +
// k_latency), the least over this tile, its halves and quarters, and splits of k. Measured points
// override the model near themselves.
struct GemmModel {
  Precision precision = Precision::bf16;
  FlopsPerSecond peak;              // dense, datasheet
  double sustained_fraction = 1.0;  // share of the peak that large shapes reach, 0 to 1
  int tile_m = 128, tile_n = 128;   // largest output tile of one multiprocessor
  double ramp_k = 0.0;              // prologue and epilogue of a tile, in units of k
  Seconds
      k_latency;  // time of one step in k, equal for all tile sizes, so large tiles are favoured
  double wave_quantization = 1.0;  // 1: a started wave costs a whole one; 0: only its share
  Seconds split_latency;           // once more when k is split: the pass that adds the parts
  double relative_spread = 0.1;    // residual of the fit
  Provenance provenance = Provenance::datasheet;
  std::vector<GemmPoint> points;  // sorted by (m, n, k, batch)
  bool operator==(const GemmModel&) const = default;
};

// A measured rate of a kernel that reads and writes so many bytes in one launch. Small ones stay in
// a cache and are faster.
struct KernelPoint {
  Bytes traffic;
  BytesPerSecond rate;
  double relative_spread = 0.0;
  bool operator==(const KernelPoint&) const = default;
};

// A memory-bound kernel: time = launch + bytes / rate. Names: sim/operators/operators.h.
struct KernelRate {
  std::string kernel;
  BytesPerSecond rate;
  double relative_spread = 0.1;
  Provenance provenance = Provenance::datasheet;
  std::vector<KernelPoint>
      points{};  // by traffic, ascending; with them `rate` is their geometric mean
  bool operator==(const KernelRate&) const = default;
};

// Fused attention: time = launch + FLOPs / (fraction * fill * peak of the precision).
// fill = L / (L + ramp_keys) * x / (x + tail_waves): L keys that a query sees on average, x blocks
// of 128 queries a multiprocessor.
// Libraries carry FlashAttention's versions for years: a device may have rates for older ones.
struct AttentionRate {
  int head_dim = 128;  // width of a head
  int version = 0;     // version of FlashAttention; 0: the fastest available kernel
  // Share of the GEMM peak with long sequences and many heads, 0 to 1.
  double forward_fraction = 0.5;
  double backward_fraction = 0.4;  // the same for the backward pass
  double ramp_keys = 0.0;
  double forward_tail_waves = 0.0;
  double backward_tail_waves = 0.0;
  double fp8_time_factor = 1.0;  // of the same attention in fp8
  double relative_spread = kDatasheetRateSpread;
  Provenance provenance = Provenance::datasheet;
  bool operator==(const AttentionRate&) const = default;
};

// The products of a layer's experts in one call (cublasGemmGroupedBatchedEx and its like), over the
// one batched product of the same sizes that the device's GemmModel knows.
struct GroupedGemmRate {
  Precision precision = Precision::bf16;
  double time_factor = 1.0;
  double relative_spread = 0.0;  // of the factor over the measured sizes
  bool operator==(const GroupedGemmRate&) const = default;
};

enum class ComputePass { forward, backward, optimizer };
inline constexpr std::array kComputePassNames{EnumName{ComputePass::forward, "forward"},
                                              EnumName{ComputePass::backward, "backward"},
                                              EnumName{ComputePass::optimizer, "optimizer"}};
constexpr std::string_view name_of(ComputePass v) { return name_in(kComputePassNames, v); }

// A pass that takes less or more is not believed.
inline constexpr double kLeastRemainderShare = -0.9, kMostRemainderShare = 1000.0;

// Time of a whole pass beyond the sum of its operators: dispatch, copies, the allocator, and caches
// that operators share. Measured with a step of the model that each rank ran alone.
struct StepRemainder {
  ComputePass pass = ComputePass::forward;
  std::int64_t tokens = 1;       // of the micro-batch that was run
  double share = 0.0;            // of the operators' sum; below 0 where the pass was faster
  double relative_spread = 0.0;  // of the whole pass, one standard deviation
  bool operator==(const StepRemainder&) const = default;
};

// A core computes and moves its own messages, in memory that others share; a GPU has links of its
// own and an allocator that keeps some of its memory.
enum class DeviceKind { cpu, gpu };
inline constexpr std::array kDeviceKindNames{EnumName{DeviceKind::cpu, "cpu"},
                                             EnumName{DeviceKind::gpu, "gpu"}};
constexpr std::string_view name_of(DeviceKind v) { return name_in(kDeviceKindNames, v); }

struct Device {
  std::string name;
  std::string source;  // datasheet or measurement, with date
  DeviceKind kind = DeviceKind::gpu;
  std::string architecture;     // "hopper": chips of one run kernels alike; empty: not stated
  int num_multiprocessors = 1;  // streaming multiprocessors of a GPU
  Bytes memory;                 // bytes that CUDA offers; less than in the datasheet
  Bytes context_memory;         // part of `memory`, per rank: CUDA's context and its loaded kernels
  Bytes communicator_memory;    // part of `memory`: NCCL's buffers of one communicator
  BytesPerSecond memory_bandwidth;
  // Share of the datasheet's bandwidth that streaming kernels reach, 0 to 1.
  double memory_bandwidth_fraction = 0.8;
  Provenance memory_provenance = Provenance::datasheet;
  Seconds kernel_launch;  // device-side cost of one more kernel
  Seconds host_launch;    // host time to submit one kernel; wins when larger than the kernel
  // Compute is slowed by this much of the time that a collective runs beside it: 18.9 % on average
  // over A100, H100, MI250 and MI210 (arXiv 2507.03114). 1 where the same core does both.
  double overlap_slowdown = 0.189;
  BytesPerSecond host_link;  // device to host memory, per direction
  std::vector<GemmModel> gemm;
  // Products scale blocks of 32 or 16 numbers (MXFP8, NVFP4) and take fp8 operands by rows and by
  // columns: Blackwell. Without, per-tensor fp8 needs a transposed copy of every operand.
  bool block_scaling = false;
  std::vector<GroupedGemmRate> grouped_gemm;  // measured ones
  std::vector<AttentionRate> attention;
  std::vector<KernelRate> kernels;
  std::vector<StepRemainder> step_remainders;  // tokens of a pass ascend
  // Clock of a long training step over the clock at which single GEMMs were measured: GEMMs and
  // fused attention take 1 / this as long in a step. Power caps it.
  double sustained_clock_fraction = 1.0;
  // Standard deviation of a rank's time for a kernel from one call to the next, relative: other
  // work on its host. The waits of ranks that exchange something in every layer follow from it
  // (sim/kernel_time/slowest.h). 0: not measured; a GPU serves only its job.
  double time_jitter = 0.0;
  std::optional<double> power_watts;  // rating of one device
  FeatureLimits limits;               // features that it does not support under any software
  bool operator==(const Device&) const = default;
};

constexpr unsigned format_bit(Precision p) { return 1U << static_cast<unsigned>(p); }

// Number formats that a device multiplies in, a bit each: those of its `gemm` list, and fp16 beside
// bf16 (Ampere's and CDNA3's matrix units do both at one rate; Volta's have fp16 alone). A CPU
// computes every format; of a device without a list nothing is known.
inline unsigned formats_of(const Device& device) {
  if (device.kind == DeviceKind::cpu || device.gemm.empty()) return ~0U;
  unsigned formats = 0;
  for (const GemmModel& model : device.gemm) formats |= format_bit(model.precision);
  if ((formats & format_bit(Precision::bf16)) != 0) formats |= format_bit(Precision::fp16);
  return formats;
}

// The job as this device works on it.
inline Job job_on(Job job, const Device& device) {
  job.operands_in_any_layout = device.block_scaling;
  return job;
}

}  // namespace meshwright
