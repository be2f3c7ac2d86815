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
  double sustained_fraction = 1.0;  // of peak, for large shapes
  int tile_m = 128, tile_n = 128;   // largest output tile of one multiprocessor
  double ramp_k = 0.0;              // prologue and epilogue of a tile, in units of k
  Seconds k_latency;  // of one step in k, whatever the tile's size: favours large tiles
  double wave_quantization = 1.0;  // 1: a started wave costs a whole one; 0: only its share
  Seconds split_latency;           // once more when k is split: the pass that adds the parts
  double relative_spread = 0.1;    // residual of the fit
  Provenance provenance = Provenance::datasheet;
  std::vector<GemmPoint> points;  // sorted by (m, n, k, batch)
  bool operator==(const GemmModel&) const = default;
};

// A memory-bound kernel: time = launch + bytes / rate. Names: sim/operators/operators.h.
struct KernelRate {
  std::string kernel;
  BytesPerSecond rate;
  double relative_spread = 0.1;
  Provenance provenance = Provenance::datasheet;
  bool operator==(const KernelRate&) const = default;
};

// Fused attention: time = launch + FLOPs / (fraction * fill * peak of the precision).
// fill = L / (L + ramp_keys) * x / (x + tail_waves): L keys that a query sees on average, x blocks
// of 128 queries a multiprocessor.
// Libraries carry FlashAttention's versions for years: a device may have rates for older ones.
struct AttentionRate {
  int head_dim = 128;
  int version = 0;                // of FlashAttention; 0: the fastest kernel of the day
  double forward_fraction = 0.5;  // of the GEMM peak, long sequences and many heads
  double backward_fraction = 0.4;
  double ramp_keys = 0.0;
  double forward_tail_waves = 0.0;
  double backward_tail_waves = 0.0;
  double fp8_time_factor = 1.0;  // of the same attention in fp8
  double relative_spread = kDatasheetRateSpread;
  Provenance provenance = Provenance::datasheet;
  bool operator==(const AttentionRate&) const = default;
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
  int num_multiprocessors = 1;  // of a GPU, SMs
  Bytes memory;                 // that CUDA offers: less than the datasheet's
  Bytes context_memory;         // of it CUDA's context and its loaded kernels, a rank
  Bytes communicator_memory;    // of it NCCL's buffers of one communicator
  BytesPerSecond memory_bandwidth;
  double memory_bandwidth_fraction = 0.8;  // of the datasheet's, reached by streaming kernels
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
  std::vector<AttentionRate> attention;
  std::vector<KernelRate> kernels;
  // Clock of a long training step over the clock at which single GEMMs were measured: GEMMs and
  // fused attention take 1 / this as long in a step. Power caps it.
  double sustained_clock_fraction = 1.0;
  // Standard deviation of a rank's time for a kernel from one call to the next, relative: other
  // work on its host. What ranks that exchange something in every layer wait for each other follows
  // from it (sim/kernel_time/slowest.h). 0: not measured; a GPU is its job's alone.
  double time_jitter = 0.0;
  std::optional<double> power_watts;
  FeatureLimits limits;  // what does not run on it, whatever the software
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
