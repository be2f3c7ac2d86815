// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/stage_memory.h"

#include <cmath>
#include <initializer_list>

namespace meshwright {

StageMemory in_whole_bytes(StageMemory memory) {
  for (Bytes* part : {&memory.weights, &memory.gradients, &memory.optimizer, &memory.activations,
                      &memory.recompute_workspace, &memory.operator_workspace, &memory.logits,
                      &memory.communication_buffers}) {
    *part = bytes(std::ceil(part->value()));
  }
  return memory;
}

}  // namespace meshwright
