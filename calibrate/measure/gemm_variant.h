// SPDX-License-Identifier: Apache-2.0
// One GEMM as a step runs it.
#pragma once

#include "sim/kernel_time/compute.h"

namespace meshwright::calibrate {

struct GemmVariant {
  GemmShape shape{};  // of the product itself: op(a) is m x k, op(b) is k x n
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  // adds to the result, as weight gradients do over micro-batches
  bool operator==(const GemmVariant&) const = default;
};

}  // namespace meshwright::calibrate
