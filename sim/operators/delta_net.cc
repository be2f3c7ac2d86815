// SPDX-License-Identifier: Apache-2.0
// The gated delta rule. K, V, H as in sim/block/delta_net.cc; dk and dv are a key's and a value's
// width.
#include "sim/operators/recurrent.h"

namespace meshwright {
namespace {

// Bytes that a token and value head move through memory in the chunked scan of
// flash-linear-attention (fla/ops/gated_delta_rule/chunk.py), w a stored number: keys are read four
// times, queries once, and the keys' half of the solve is written and read; values pass six times;
// each chunk's state is written and read; the chunk's 64 products a token pass in fp32 twice and in
// 16 bits twice.
double scanned_bytes(double dk, double dv, double w) {
  return w * (7.0 * dk + 6.0 * dv + 2.0 * dk * dv / kDeltaChunk) +
         kDeltaChunk * (2.0 * kFp32Bytes + 2.0 * w);
}

}  // namespace

// Products with the state, products of a chunk's tokens with each other, two triangular solves.
// Kept are the chunk's solved products, a decay and a step width a head; queries, keys and values
// are the convolution's output. What transformers' own code keeps (modeling_qwen3_next.py,
// torch_chunk_gated_delta_rule) was measured on the class.
ScanWork delta_net_scan(const DeltaNet& net, double width) {
  const double heads = net.linear_num_value_heads;
  const double keys = heads * net.linear_key_head_dim, values = heads * net.linear_value_head_dim;
  const double state = values * net.linear_key_head_dim;
  const double channels = 2.0 * net.linear_num_key_heads * net.linear_key_head_dim + values;
  return {.kernel = kernel::kDeltaRule,
          .flops = 4.0 * kDeltaChunk * keys + 2.0 * kDeltaChunk * values + 6.0 * state +
                   kDeltaChunk * (values + keys),
          .bytes = heads * scanned_bytes(net.linear_key_head_dim, net.linear_value_head_dim, width),
          .saved = heads * (kDeltaChunk * width + 2.0 * kFp32Bytes),
          .launches = 6,
          .torch_token = 30.0 * values + 32.0 * keys + 4.0 * channels + 4.0 * state / kDeltaChunk +
                         (20.0 * kDeltaChunk + 38.0) * heads,
          .torch_sequence = kDeltaChunk * kDeltaChunk + 6.0 * channels + 8.0 * heads};
}

}  // namespace meshwright
