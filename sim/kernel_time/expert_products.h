// SPDX-License-Identifier: Apache-2.0
// What the products of a layer's experts take as Transformer Engine's GroupedLinear runs them: one
// cuBLASLt call an expert, round robin on four streams (common/gemm/cublaslt_gemm.cu, d0067d0d),
// weight gradients added to what stands in the gradients' buffer.
//
// Against the 108 grouped products of 128 to 9,832 rows that SimuMax timed on B200 (4dcaae5,
// configs/system), with the large single products of the same table over ours as 1: measured over
// this 1.05, standard deviation 18 %; over one batched product without the buffer 1.31 and 24 %,
// its weight gradients 1.59.
#pragma once

#include "sim/base/units.h"
#include "sim/hardware/device.h"
#include "sim/kernel_time/compute.h"

namespace meshwright {

// Transformer Engine's streams for grouped products.
inline constexpr std::int64_t kGroupedProductStreams = 4;

// The products of shape.batch experts as rounds of so many at once.
struct ProductRounds {
  GemmShape shape;  // of one round
  double count = 1;
};
constexpr ProductRounds rounds_on_streams(GemmShape shape) {
  const std::int64_t experts = shape.batch;
  if (experts > kGroupedProductStreams) shape.batch = kGroupedProductStreams;
  return {shape, static_cast<double>(experts) / static_cast<double>(shape.batch)};
}

// `time` of a product has its arithmetic beside its `traffic` as in GemmModel, time^3 = compute^3 +
// memory^3: what it takes where `more` passes as well.
Seconds with_more_traffic(Seconds time, Seconds traffic, Seconds more);

// The products of several experts in one call: `batched`, one batched product of the same sizes,
// times what grouping costs on this device in this format (GroupedGemmRate). Where that was not
// measured, `batched` itself.
Cost as_grouped(Cost batched, Precision precision, const Device& device);

// A weight gradient of this shape that its product adds to a buffer of `gradient_bytes` a number
// (Megatron-LM gradient_accumulation_fusion): these are read and written, where a product alone
// writes an activation's. A device with measured points was timed so: its times stand.
Cost gradient_cost(GemmShape shape, Precision precision, double gradient_bytes,
                   const Device& device);

}  // namespace meshwright
