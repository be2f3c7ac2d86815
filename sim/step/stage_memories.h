// SPDX-License-Identifier: Apache-2.0
// The memory of a layout's stages, put together from the table's bytes of layers, embedding and
// head and from the states of the schedule's programs.
#pragma once

#include <vector>

#include "sim/memory/moving_memory.h"
#include "sim/step/cost_table.h"

namespace meshwright {

// Peak of the temporary memory on a run of equal stages.
struct MovingPeak {
  Bytes most;
  Bytes in_layers;  // while no loss runs; in a pipeline it may run elsewhere, and this is `most`
  int stage = 0;    // stage with this memory
};

// Treatment of a stage's chunks, by PipelineShape::runs. Reads recompute_num_layers, offload and
// whether recompute is full.
std::vector<ChunkGroups> stage_groups(const Model& model, const Layout& layout,
                                      const PipelineShape& shape);
// Peaks by runs of equal stages. The first or last of equal neighbours holds the most in flight.
// With dualpipe, whose two directions meet in the middle, any of them may.
std::vector<MovingPeak> moving_peaks(CostTable& table, const Layout& layout,
                                     const PipelineShape& shape,
                                     const std::vector<ChunkGroups>& groups);

// Time that a micro-batch's activations take to the host, or back, on the stage that has most of
// them there.
Seconds offload_time(CostTable& table, const Layout& layout,
                     const std::vector<ChunkGroups>& groups);
Seconds offload_time(CostTable& table, const Layout& layout, const PipelineShape& shape);

// Every stage's, with what is outside the allocator.
std::vector<StageMemory> stage_memories(CostTable& table, const Layout& layout);

}  // namespace meshwright
