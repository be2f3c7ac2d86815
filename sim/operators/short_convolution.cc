// SPDX-License-Identifier: Apache-2.0
// The two gates around a short convolution: an elementwise product each.
#include "sim/operators/recurrent.h"

namespace meshwright {

// transformers' own code keeps the input linear's output, and what enters the convolution, leaves
// it and leaves the second gate: as many numbers as fused kernels.
ScanWork short_convolution_scan(const Model& model, double width) {
  const double h = model.hidden_size;
  return {.kernel = kernel::kAdd,
          .flops = 2.0 * h,
          .bytes = 6.0 * h * width,
          .saved = h * width,
          .launches = 2,
          .torch_token = 6.0 * h * width};
}

}  // namespace meshwright
