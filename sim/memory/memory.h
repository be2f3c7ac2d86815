// SPDX-License-Identifier: Apache-2.0
// Bytes that one rank of each pipeline stage holds at its peak.
#pragma once

#include <functional>

#include "sim/hardware/cluster.h"
#include "sim/memory/model_state.h"
#include "sim/memory/moving_memory.h"

namespace meshwright {

// Permanent and temporary memory, at the fuller of two times: while the loss runs, and while layers
// do. `moving` gives moving_memory() of a part of the passes.
StageMemory stage_memory(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, const std::function<StageMemory(PeakScope)>& moving);
StageMemory stage_memory(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, int stage_index);

// Peak that a framework prints for a step that allocates `allocated`: that number, or the memory
// that its allocator has reserved by then. At most the device's memory, because a full allocator
// returns free blocks and tries again.
Bytes printed_peak(Bytes allocated, const MemoryFacts& facts, const Device& device);

// Outside the framework's allocator: CUDA's context, and NCCL's buffers of every group that a rank
// is in (tensor, pipeline, data, context, expert): more communicators, more memory (nccl issues
// 864, 986). Reads the parallel sizes alone.
Bytes outside_allocator(const Device& device, const Layout& layout);

}  // namespace meshwright
