// SPDX-License-Identifier: Apache-2.0
// The scan of Mamba-1 (mamba_ssm, csrc/selective_scan). I channels, N the state's size.
#include "sim/operators/recurrent.h"

namespace meshwright {

// FLOPs of one token: decays, what enters the state, the state and what reads it, 9 a number. The
// fused kernel reads values, step widths and gates, and writes one output. It keeps the output, and
// runs the states again. The code of transformers keeps six fp32 numbers of a state for each token
// (modeling_mamba.py, not measured).
ScanWork selective_scan_work(const SelectiveScan& scan, double width) {
  const double channels = scan.selective_channels, state = scan.selective_state_dim;
  return {.kernel = kernel::kSelectiveScan,
          .flops = 9.0 * channels * state,
          .bytes = width * (4.0 * channels + 2.0 * state),
          .saved = width * channels,
          .torch_token = 6.0 * kFp32Bytes * channels * state + 10.0 * width * channels};
}

}  // namespace meshwright
