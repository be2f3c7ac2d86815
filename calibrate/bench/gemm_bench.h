// SPDX-License-Identifier: Apache-2.0
// One GEMM shape as a transformer step runs it: row-major activations (m x k) and weights (k x n).
// forward y = x w; input gradient dx = dy w^T; weight gradient dw = x^T dy.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "calibrate/bench/bench.h"
#include "calibrate/measure/gemm_variant.h"
#include "sim/kernel_time/compute.h"

namespace meshwright::calibrate {

// Second operand of a GEMM. Attention scores q k^T have it transposed in the forward pass.
enum class GemmOperand { weight, activation, transposed_activation };

// The three products of a forward shape, as a step runs them.
std::vector<GemmVariant> training_variants(GemmShape s, GemmOperand second = GemmOperand::weight);

// Tells whether Transformer Engine accumulates this fp8 GEMM fast: forward yes, both gradients in
// fp32 (its _2X_ACC_FPROP, _2X_ACC_DGRAD, _2X_ACC_WGRAD).
bool accumulates_fast(const GemmVariant& variant, Precision precision);

// How far a right result may be from the double-precision one.
//
// Operands are exact, so fp32 sums err by no more than 1e-5 of the sum of the products' magnitudes.
// Sums of fp8 keep some 14 bits (DeepSeek-V3, arXiv 2412.19437, 3.3.2): each addend may lose 2^-13
// of the largest one or of the running sum. For k products of normal operands of variance v:
//   magnitudes 2/pi k v; running sum about sqrt(k) v; the products' losses, of either sign,
//   sqrt(k) * 2^-13 sqrt(k) v / sqrt(3), a 2^-13th of the magnitudes at every k;
//   the losses of the k / 32 running sums, all of one sign, below 2^-10.9 of them up to k = 64 Ki.
// Fast accumulation has both: 2^-9. Precise sums go to fp32 every 128 products or so and have the
// first alone: 2^-10. One more rounding, to the result's 8 or 11 bits.
struct GemmTolerance {
  double of_magnitude = 1e-5;
  double of_value = 0.0;
  [[nodiscard]] double of(double expected, double magnitude) const {
    return of_magnitude * magnitude + of_value * (expected < 0.0 ? -expected : expected);
  }
};
GemmTolerance gemm_tolerance(Precision operands, bool fast_accumulation, Precision result);

// Whether precise sums of fp8 are what they are said to be shows in sums of one sign, which grow
// until a sum of 14 bits loses what it is given. Of 32 products 25 are 72/64 (9/8 times 1) and 7
// are 81/64, together 2367/64: one less than a multiple of every power of two up to 64. 128
// products have 9,468 units and are exact in 14 bits (16,384). In a sum that is not moved to fp32,
// 32 products lose u - 1 units while it is below 16,384 u: 0.5 % over 4,096 and 1.1 % over 8,192
// products, more where each product is cut. Allowed are 2^-10 and half a unit of the result.
double telling_operand(bool second, std::int64_t k);  // of index k
double telling_sum(std::int64_t k);                   // over k products, a multiple of 16
double telling_tolerance(std::int64_t k, Precision result);
// The least k at which a fast sum is further off than that, also after its own rounding.
std::int64_t shortest_telling_sum(Precision result);

// Bytes that the operands and the result take.
Bytes gemm_memory(const GemmShape& shape, Precision precision);

std::unique_ptr<Bench> make_gemm_bench(Compute& compute, const GemmVariant& variant,
                                       Precision precision);

}  // namespace meshwright::calibrate
