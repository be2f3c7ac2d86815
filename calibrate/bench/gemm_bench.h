// SPDX-License-Identifier: Apache-2.0
// One GEMM shape as a transformer step runs it: row-major activations (m x k) and weights (k x n).
// forward y = x w; input gradient dx = dy w^T; weight gradient dw = x^T dy.
#pragma once

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
// Fast accumulation keeps some 14 bits: each of its k / 32 additions may lose 2^-13 of the running
// sum, which for numbers of either sign stays below 2^-9 of the magnitudes up to k = 64 Ki. One
// more rounding, to the result's 8 or 11 bits.
struct GemmTolerance {
  double of_magnitude = 1e-5;
  double of_value = 0.0;
  [[nodiscard]] double of(double expected, double magnitude) const {
    return of_magnitude * magnitude + of_value * (expected < 0.0 ? -expected : expected);
  }
};
GemmTolerance gemm_tolerance(bool fast_accumulation, Precision result);

// Bytes that the operands and the result take.
Bytes gemm_memory(const GemmShape& shape, Precision precision);

std::unique_ptr<Bench> make_gemm_bench(Compute& compute, const GemmVariant& variant,
                                       Precision precision);

}  // namespace meshwright::calibrate
