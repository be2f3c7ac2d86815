// SPDX-License-Identifier: Apache-2.0
// Bytes of a rank that come and go in a step. They depend on tensor, context and expert size,
// micro-batches, recompute and schedule alone:
// peak = max over the states of the stage's program of
//   sum over chunks (micro-batches held x bytes a micro-batch) + what runs in that state needs.
#pragma once

#include <vector>

#include "sim/base/job.h"
#include "sim/memory/activation_memory.h"
#include "sim/memory/stage_memory.h"
#include "sim/memory/workspace.h"
#include "sim/schedule/in_flight.h"

namespace meshwright {

// One chunk's bytes: a micro-batch's, and what each kind of work needs beside.
struct ChunkMemory {
  HeldBytes held;
  Workspace forward, backward, weight;
  Bytes layer;  // bytes per layer of a micro-batch, averaged over the layers
};
// The chunks of a stage, neighbours that weigh the same as one: the middle ones of an interleaved
// stage do.
struct ChunkGroup {
  Chunk chunk;  // the first of them
  std::vector<LayerRun> layers;
};
struct ChunkGroups {
  std::vector<ChunkGroup> groups;
  std::vector<int> sizes;  // chunks of each
};
ChunkGroups chunk_groups(const Model& model, const Layout& layout, const Stage& stage);
ChunkMemory chunk_memory(const UnitBytes& units, const Layout& layout, const ChunkGroup& group,
                         PeakScope scope = PeakScope::all);
// Every chunk by itself.
std::vector<ChunkMemory> chunk_memories(const UnitBytes& units, const Layout& layout,
                                        const ChunkGroups& groups,
                                        PeakScope scope = PeakScope::all);

// Memory held for backward; in a state, with the workspace of what runs.
StageMemory held_memory(const std::vector<HeldMicroBatches>& held,
                        const std::vector<ChunkMemory>& chunks);
StageMemory memory_at(const InFlightState& state, const std::vector<ChunkMemory>& chunks);

// Beside them, whatever runs: weight gradients' placeholders, and buffers of communication. `kinds`
// of layers are the stage's.
StageMemory standing_memory(const UnitBytes& units, const Layout& layout, unsigned kinds);

// Peak of the temporary memory: activations, workspaces, logits and buffers. Does not depend on
// ZeRO or the data size, but for the number of micro-batches that this leaves. `states` are the
// stage's in_flight_states, grouped as `chunks` are.
StageMemory moving_memory(const StageMemory& standing, const std::vector<ChunkMemory>& chunks,
                          const std::vector<InFlightState>& states);
StageMemory moving_memory(const Model& model, const Job& job, const Layout& layout,
                          const Stage& stage, int stage_index, PeakScope scope = PeakScope::all);

}  // namespace meshwright
