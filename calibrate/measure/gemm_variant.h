// SPDX-License-Identifier: Apache-2.0
// One GEMM as a step runs it.
#pragma once

#include <compare>

#include "sim/kernel_time/compute.h"

namespace meshwright::calibrate {

// Which operands a step finds in a cache, since it has just written or read them. The others were
// last used a micro-batch ago and are in memory: weights, what is saved for the backward pass,
// gradients that are added to.
struct FreshOperands {
  bool a = false, b = false, c = false;
  auto operator<=>(const FreshOperands&) const = default;
};

struct GemmVariant {
  GemmShape shape{};  // of the product itself: op(a) is m x k, op(b) is k x n
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  // adds to the result, as weight gradients do over micro-batches
  FreshOperands fresh{};
  // Of operands that are not fresh: what a step reads between two uses of them, where that is
  // known. A decode step reads all weights, which stay in a cache that holds them. 0: more than any
  // cache.
  Bytes reused_after{};
  bool operator==(const GemmVariant&) const = default;
};

}  // namespace meshwright::calibrate
