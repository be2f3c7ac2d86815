// SPDX-License-Identifier: Apache-2.0
// One call of fused attention over whole sequences.
#pragma once

#include <cstdint>

namespace meshwright::calibrate {

struct AttentionShape {
  std::int64_t batch = 1, heads = 1, query_groups = 1, positions = 0, head_dim = 128;
  bool causal = true;
  bool backward = false;
  int version = 0;  // of FlashAttention; 0: the fastest kernel of the day (AttentionRate::version)
  bool operator==(const AttentionShape&) const = default;
};

// flash-attention's own count: scores and context, 2 FLOPs a pair and unit of width each, half of
// the pairs under a causal mask; backward, which computes the scores again, 2.5 times as many.
inline double attention_flops(const AttentionShape& s) {
  const auto pairs = static_cast<double>(s.positions) * static_cast<double>(s.positions);
  const double forward = 4.0 * static_cast<double>(s.batch * s.heads) * pairs *
                         static_cast<double>(s.head_dim) * (s.causal ? 0.5 : 1.0);
  return s.backward ? 2.5 * forward : forward;
}

}  // namespace meshwright::calibrate
