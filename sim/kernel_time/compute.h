// SPDX-License-Identifier: Apache-2.0
// How long one operator takes on one device.
#pragma once

#include "sim/base/units.h"
#include "sim/hardware/device.h"
#include "sim/operators/operators.h"

namespace meshwright {

struct GemmShape {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool operator==(const GemmShape&) const = default;
};
constexpr Flops gemm_flops(GemmShape s) {
  return flops(2.0 * static_cast<double>(s.batch) * static_cast<double>(s.m) *
               static_cast<double>(s.n) * static_cast<double>(s.k));
}

// One GEMM. A measured point of the same shape is used as it is; between measured points the rate
// is interpolated over log m, log n, log k; else the model of GemmModel.
Cost gemm_cost(GemmShape shape, Precision precision, const Device& device);
// A memory-bound kernel that moves `traffic` bytes.
Cost kernel_cost(std::string_view kernel, Bytes traffic, const Device& device);

// One operator of one micro-batch. flash_attention_version: which of the device's rates fused
// attention has (AttentionRate::version).
Cost forward_cost(const Operator& op, Precision precision, const Device& device,
                  int flash_attention_version = 0);
struct BackwardCost {
  Cost input;   // gradient with respect to the input (and all of a memory-bound operator)
  Cost weight;  // gradient with respect to the weight; zero time where there is none
};
BackwardCost backward_cost(const Operator& op, Precision precision, const Device& device,
                           int flash_attention_version = 0);

// a then b: times add; spreads add as shared errors; the weakest provenance stands.
inline Cost operator+(const Cost& a, const Cost& b) {
  if (a.time.value() == 0.0) return b;
  if (b.time.value() == 0.0) return a;
  const Seconds total = a.time + b.time;
  return {total, (a.time * a.relative_spread + b.time * b.relative_spread) / total,
          weakest(a.provenance, b.provenance)};
}
// The same work `factor` times.
constexpr Cost times(Cost cost, double factor) {
  cost.time *= factor;
  return cost;
}
// `cost` with its provenance, for another time.
constexpr Cost with_time(Cost cost, Seconds time) {
  cost.time = time;
  return cost;
}

}  // namespace meshwright
