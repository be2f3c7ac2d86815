// SPDX-License-Identifier: Apache-2.0
// How long one operator takes on one device.
#pragma once

#include "sim/base/units.h"
#include "sim/hardware/device.h"
#include "sim/operators/operators.h"

namespace meshwright {

struct GemmShape {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
};
constexpr Flops gemm_flops(GemmShape s) {
  return flops(2.0 * static_cast<double>(s.batch) * static_cast<double>(s.m) *
               static_cast<double>(s.n) * static_cast<double>(s.k));
}

// Share of the tiles' area that is useful (NVIDIA Matrix Multiplication Background, 3.1).
double tile_efficiency(std::int64_t m, std::int64_t n, int tile_m, int tile_n);
// tiles / (waves * multiprocessors) (ibid., 3.2).
double wave_efficiency(std::int64_t tiles, int multiprocessors);

// One GEMM. A measured point of the same shape is used as it is; between measured points the rate
// is interpolated over log m, log n, log k; else the model of GemmModel.
Cost gemm_cost(GemmShape shape, Precision precision, const Device& device);
// A memory-bound kernel that moves `traffic` bytes.
Cost kernel_cost(std::string_view kernel, Bytes traffic, const Device& device);

// One operator of one micro-batch.
Cost forward_cost(const Operator& op, Precision precision, const Device& device);
struct BackwardCost {
  Cost input;   // gradient with respect to the input (and all of a memory-bound operator)
  Cost weight;  // gradient with respect to the weight; zero time where there is none
};
BackwardCost backward_cost(const Operator& op, Precision precision, const Device& device);

// a then b: times add; spreads add as shared errors; the weakest provenance stands.
Cost operator+(const Cost& a, const Cost& b);
// The same work `factor` times.
Cost times(Cost cost, double factor);

// The same words for bare Seconds, so that one formula serves both.
constexpr Seconds times(Seconds time, double factor) { return time * factor; }
constexpr Seconds time_of(const Cost& cost) { return cost.time; }
constexpr Seconds time_of(Seconds time) { return time; }
constexpr void set_time(Cost& cost, Seconds time) { cost.time = time; }
constexpr void set_time(Seconds& to, Seconds time) { to = time; }

}  // namespace meshwright
