// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/gemm_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/error.h"
#include "sim/kernel_time/host.h"

namespace meshwright {
namespace {

// Tiles tried along each edge: whole, half, quarter.
constexpr int kTileSizes = 3;
// Parts that k is cut into when there are fewer tiles than multiprocessors.
constexpr int kMaxSplit = 16;
// Partial sums of a split are kept in fp32, written and read once.
constexpr double kSplitBytes = 8.0;

double ceil_div(double a, double b) { return std::ceil(a / b); }

double waves(double tiles, double multiprocessors, double quantization) {
  const double exact = tiles / multiprocessors;
  if (exact <= 1.0) return 1.0;
  return quantization * std::ceil(exact) + (1.0 - quantization) * exact;
}

struct Machine {
  double multiprocessors, seconds_per_product, bytes_per_second;
};

// Splits are only tried while a wave is not full: beyond, they cannot shorten the first wave, and
// the time stays monotone in m and n.
double tiled_time(const GemmShape& s, const GemmModel& model, const Machine& machine, double tile_m,
                  double tile_n) {
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n);
  const auto k = static_cast<double>(s.k), batch = static_cast<double>(s.batch);
  const double tiles = batch * ceil_div(m, tile_m) * ceil_div(n, tile_n);
  const double seconds_per_k =
      tile_m * tile_n * machine.seconds_per_product + model.k_latency.value();
  double best = waves(tiles, machine.multiprocessors, model.wave_quantization) *
                (k + model.ramp_k) * seconds_per_k;
  if (tiles >= machine.multiprocessors) return best;
  for (double split = 2.0; split <= kMaxSplit; split *= 2.0) {
    const double sums = model.split_latency.value() +
                        batch * m * n * split * kSplitBytes / machine.bytes_per_second;
    best = std::min(best, waves(tiles * split, machine.multiprocessors, model.wave_quantization) *
                                  (k / split + model.ramp_k) * seconds_per_k +
                              sums);
  }
  return best;
}

double compute_time(const GemmShape& s, const GemmModel& model, const Machine& machine) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTileSizes; ++i) {
    for (int j = 0; j < kTileSizes; ++j) {
      const double tile_m = std::max(1, model.tile_m >> i);
      const double tile_n = std::max(1, model.tile_n >> j);
      best = std::min(best, tiled_time(s, model, machine, tile_m, tile_n));
    }
  }
  return best;
}

}  // namespace

Bytes gemm_traffic(const GemmShape& s, Precision precision) {
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n);
  const auto k = static_cast<double>(s.k), batch = static_cast<double>(s.batch);
  return bytes(batch * (bytes_per_element(precision) * (m * k + k * n) +
                        activation_bytes(precision) * m * n));
}

Seconds gemm_model_time(GemmShape shape, const GemmModel& model, const Device& device) {
  const double multiprocessors = device.num_multiprocessors;
  const Machine machine{multiprocessors,
                        2.0 * multiprocessors / (model.peak.value() * model.sustained_fraction),
                        device.memory_bandwidth.value() * device.memory_bandwidth_fraction};
  const double compute = compute_time(shape, model, machine);
  const double memory = gemm_traffic(shape, model.precision).value() / machine.bytes_per_second;
  return device.kernel_launch + overlapped(seconds(compute), seconds(memory));
}

const GemmModel& gemm_model_for(const Device& device, Precision precision) {
  invariant(!device.gemm.empty(), "a device without any GEMM rate");
  const auto sixteen_bit = [](Precision p) { return p == Precision::fp16 || p == Precision::bf16; };
  const GemmModel* stand_in = nullptr;
  for (const GemmModel& model : device.gemm) {
    if (model.precision == precision) return model;
    if (sixteen_bit(model.precision) && sixteen_bit(precision)) stand_in = &model;
  }
  return stand_in != nullptr ? *stand_in : device.gemm.front();
}

FlopsPerSecond fastest_rate(const Device& device, Precision precision) {
  const GemmModel& model = gemm_model_for(device, precision);
  FlopsPerSecond fastest = model.peak * model.sustained_fraction;
  for (const GemmPoint& p : model.points) {
    fastest = std::max(fastest, gemm_flops({p.batch, p.m, p.n, p.k}) / p.time);
  }
  const Precision attention = is_narrow(precision) ? Precision::bf16 : precision;
  const FlopsPerSecond peak = gemm_model_for(device, attention).peak;
  for (const AttentionRate& rate : device.attention) {
    fastest = std::max(fastest, peak * std::max(rate.forward_fraction, rate.backward_fraction));
  }
  return fastest;
}

}  // namespace meshwright
