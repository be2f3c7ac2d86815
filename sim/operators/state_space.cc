// SPDX-License-Identifier: Apache-2.0
// The chunked scan of Mamba-2 (state-space duality, arXiv 2405.21060). I = heads x head width, H
// heads, G groups, N the state's size, C tokens of a chunk.
#include "sim/operators/recurrent.h"

namespace meshwright {

// FLOPs: C x B of a chunk, its product with values, and the state written and read. Bytes, as
// mamba_ssm's five kernels move them (ops/triton/ssd_combined.py): values read twice and written
// once, B and C read twice; each chunk's state written, read, written and read in fp32; C x B
// written and read in fp32; step widths and decays. Backward runs the convolution again, so that
// nothing but the scan's output is kept. What transformers' own code keeps (modeling_nemotron_h.py,
// torch_forward) was measured on the class.
ScanWork state_space_scan(const Model& model, double width, double positions) {
  const StateSpace& space = *model.state_space;
  const double heads = space.mamba_num_heads, groups = space.mamba_num_groups;
  const double state = space.mamba_state_dim, chunk = space.mamba_chunk_size;
  const double values = heads * space.mamba_head_dim;
  const double channels = values + 2.0 * groups * state;
  const double chunks = positions / chunk;
  return {.kernel = kernel::kStateSpace,
          .flops = 2.0 * chunk * heads * state + 2.0 * chunk * values + 4.0 * state * values,
          .bytes = width * (3.0 * values + 4.0 * groups * state) +
                   4.0 * kFp32Bytes * values * state / chunk + 2.0 * kFp32Bytes * groups * chunk +
                   6.0 * kFp32Bytes * heads,
          .keeps_convolution = false,
          .launches = 5,
          .torch_token = 42.0 * values + 20.0 * heads * state + 2.0 * (values + channels + heads) +
                         2.0 * channels + 12.0 * chunk * heads + 20.0 * heads + 4.0 * groups +
                         4.0 * values * state * (2.0 * chunks + 1.0) / positions,
          .torch_sequence =
              2.0 * chunk * chunk + 6.0 * channels + 4.0 * heads * (chunks + 1.0) * (chunks + 1.0)};
}

}  // namespace meshwright
