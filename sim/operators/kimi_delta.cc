// SPDX-License-Identifier: Apache-2.0
// The delta rule with a decay a channel. D = heads x head width d, H heads.
#include "sim/operators/recurrent.h"

namespace meshwright {

// FLOPs: a chunk's tokens with each other and with the state, and a chunk's keys with keys and
// queries with keys. Bytes, as flash-linear-attention's kernels move them (fla/ops/kda/chunk.py):
// queries pass twice, keys five times, values six, decays once in the stored format and five times
// in fp32, weighed keys twice, the output once; each chunk's state is written and read; two
// products of a chunk's 64 tokens pass twice each. Kept are both products, fp32 decays, a step
// width and two norms a head. What transformers' own code keeps (modeling_kimi_linear.py) was
// measured on the class.
ScanWork kimi_delta_scan(const KimiDelta& kda, double width) {
  const double heads = kda.kda_num_heads, columns = heads * kda.kda_head_dim;
  const double state = columns * kda.kda_head_dim;
  return {.kernel = kernel::kKimiDelta,
          .flops = 10.0 * kDeltaChunk * columns + 6.0 * state,
          .bytes = columns * (17.0 * width + 5.0 * kFp32Bytes) + 2.0 * width * state / kDeltaChunk +
                   4.0 * width * kDeltaChunk * heads,
          .saved = heads * (2.0 * kDeltaChunk * width + 3.0 * kFp32Bytes) + kFp32Bytes * columns,
          .launches = 7,
          .torch_token = (12.0 * kDeltaChunk + 101.0) * columns + 5990.0 * heads};
}

}  // namespace meshwright
