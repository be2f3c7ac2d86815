// SPDX-License-Identifier: Apache-2.0
// Named parts of a stage's memory. Files, tables and reports list the same parts.
#pragma once

#include <array>
#include <string_view>

#include "sim/memory/stage_memory.h"

namespace meshwright {

struct MemoryPartName {
  std::string_view name;  // its key is NAME_bytes
  Bytes StageMemory::*amount;
  std::string_view about;
};
// They add up to StageMemory::total().
inline constexpr std::array kMemoryParts{
    MemoryPartName{"weights", &StageMemory::weights, "Weights."},
    MemoryPartName{"gradients", &StageMemory::gradients, "Gradients."},
    MemoryPartName{"optimizer", &StageMemory::optimizer, "Master weights and moments."},
    MemoryPartName{"activations", &StageMemory::activations, "Activations held for backward."},
    MemoryPartName{"recompute_workspace", &StageMemory::recompute_workspace,
                   "Layers that are run again."},
    MemoryPartName{"operator_workspace", &StageMemory::operator_workspace,
                   "Outputs and gradients of the operator that runs."},
    MemoryPartName{"logits", &StageMemory::logits, "Logits, softmax and loss."},
    MemoryPartName{"communication_buffers", &StageMemory::communication_buffers,
                   "Gathered weights, received activations, dispatched tokens."},
    MemoryPartName{"reserve", &StageMemory::reserve,
                   "Outside the framework's allocator: context and NCCL."}};

}  // namespace meshwright
