// SPDX-License-Identifier: Apache-2.0
// The bytes of one rank of a pipeline stage, by what holds them.
#pragma once

#include "sim/base/units.h"

namespace meshwright {

struct StageMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;              // master weights and moments
  Bytes activations;            // held for backward at the peak
  Bytes recompute_workspace;    // layers that are run again at the peak
  Bytes operator_workspace;     // outputs and gradients of what runs at the peak
  Bytes logits;                 // logits, softmax and loss on the last stage
  Bytes communication_buffers;  // ZeRO-3 gathers, pipeline receive buffers, expert dispatch
  Bytes reserve;                // outside the framework's allocator: context, NCCL
  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + activations + recompute_workspace +
           operator_workspace + logits + communication_buffers + reserve;
  }
  // Bytes that the framework's allocator has given out (torch.cuda.max_memory_allocated).
  [[nodiscard]] Bytes allocated() const { return total() - reserve; }
};

// In whole bytes, so that the order in which parts are added changes nothing.
StageMemory in_whole_bytes(StageMemory memory);

}  // namespace meshwright
