// SPDX-License-Identifier: Apache-2.0
// Learned logits beside those of the keys (gpt-oss; StreamingLLM, arXiv 2309.17453; Megatron-LM
// softmax_type learnable).
#pragma once

#include <cstdint>

namespace meshwright::calibrate {

// Score matrices are (group, sequence, head of the group); sinks (group, head of the group).
struct AttentionSinks {
  const float* logits = nullptr;  // null: none
  std::int64_t sequences = 1, heads_of_group = 1;
};

}  // namespace meshwright::calibrate
