// SPDX-License-Identifier: Apache-2.0
// One GEMM shape as a transformer step runs it: row-major activations (m x k) and weights (k x n).
// forward y = x w; input gradient dx = dy w^T; weight gradient dw = x^T dy.
#pragma once

#include <memory>
#include <vector>

#include "calibrate/bench/bench.h"
#include "sim/kernel_time/compute.h"

namespace meshwright::calibrate {

struct GemmVariant {
  GemmShape shape;  // of the product itself: op(a) is m x k, op(b) is k x n
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  // adds to the result, as weight gradients do over micro-batches
  bool operator==(const GemmVariant& o) const {
    return shape.batch == o.shape.batch && shape.m == o.shape.m && shape.n == o.shape.n &&
           shape.k == o.shape.k && transpose_a == o.transpose_a && transpose_b == o.transpose_b &&
           accumulate == o.accumulate;
  }
};

// What the second operand of a product is: attention scores q k^T have it transposed in forward.
enum class GemmOperand { weight, activation, transposed_activation };

// The three products of a forward shape, as a step runs them.
std::vector<GemmVariant> training_variants(GemmShape s, GemmOperand second = GemmOperand::weight);

// Bytes that the operands and the result take.
Bytes gemm_memory(const GemmShape& shape, Precision precision);

std::unique_ptr<Bench> make_gemm_bench(Compute& compute, const GemmVariant& variant,
                                       Precision precision);

}  // namespace meshwright::calibrate
