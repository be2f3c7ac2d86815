// SPDX-License-Identifier: Apache-2.0
// Lightning attention, whose decays are fixed. D = heads x head width d, C tokens of a chunk.
#include "sim/operators/recurrent.h"

namespace meshwright {

// FLOPs: a chunk's tokens with each other, and the state written and read. Bytes (MiniMax-AI
// lightning_attn2): queries, keys and values read twice, the output written and read between a
// chunk and its past; each chunk's state is written and read in fp32. What transformers' own code
// keeps (modeling_minimax.py) was measured on the class.
ScanWork lightning_scan(const Lightning& lightning, double width, double positions) {
  const double heads = lightning.lightning_num_heads, chunk = lightning.lightning_chunk_size;
  const double columns = heads * lightning.lightning_head_dim;
  const double state = columns * lightning.lightning_head_dim;
  return {.kernel = kernel::kLightning,
          .flops = 4.0 * chunk * columns + 4.0 * state,
          .bytes = width * 8.0 * columns + 2.0 * kFp32Bytes * state / chunk,
          .launches = 3,
          .torch_token = 28.0 * columns + 2.0 * heads * chunk + 2.0 * state / chunk + 4.0,
          .torch_sequence = positions > chunk ? -2.0 * chunk * columns : 0.0};
}

}  // namespace meshwright
