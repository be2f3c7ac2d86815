// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/moving_memory.h"

#include <algorithm>
#include <utility>

#include "sim/layout/pipeline_shape.h"

namespace meshwright {
namespace {

// With overlapped messages the next input and the next gradient arrive while others are worked on.
// Without, the stage waits: what arrives is the chunk's input, or the gradient that it starts from.
Bytes pipeline_buffers(const UnitBytes& units, const Layout& layout) {
  if (layout.pipeline_parallel_size == 1 || !layout.overlap_p2p_comm) return {};
  return 2.0 * units.input;
}

// The whole sequence that Megatron-LM gathers in front of a column-parallel linear, in its one
// global memory buffer; of DTensor, which keeps the inputs, the gathered gradient of a row-parallel
// linear's output.
Bytes sequence_gather_buffer(const UnitBytes& units, const Layout& layout) {
  if (!layout.sequence_parallel || layout.tensor_parallel_size == 1) return {};
  return units.input * layout.tensor_parallel_size;
}

const Workspace& workspace_of(const RunningPass& running, const std::vector<ChunkMemory>& chunks) {
  const ChunkMemory& chunk = chunks[static_cast<std::size_t>(running.chunk)];
  if (running.pass == Pass::forward) return chunk.forward;
  return running.pass == Pass::backward_weight ? chunk.weight : chunk.backward;
}

// Passes that take turns: the running one's logits are gone, or not there yet, while the other has
// a layer.
struct InTurns {
  Bytes layer, logits;
};

InTurns in_turns(const InFlightState& state, const std::vector<ChunkMemory>& chunks) {
  if (!state.in_turns) return {};
  return {chunks[static_cast<std::size_t>(state.beside->chunk)].layer,
          chunks[static_cast<std::size_t>(state.running.chunk)].held.logits +
              workspace_of(state.running, chunks).logits};
}

// Two passes at once need the workspaces of both; in turns, one at a time.
bool works_beside(const InFlightState& state) { return state.beside && !state.in_turns; }

void add_workspace(StageMemory& memory, const Workspace& needed) {
  memory.activations += needed.activations;
  memory.recompute_workspace += needed.recompute;
  memory.operator_workspace += needed.operators;
  memory.logits += needed.logits;
}

// memory_at(), summed: a peak is looked for among many states.
Bytes total_at(const InFlightState& state, const std::vector<ChunkMemory>& chunks) {
  Bytes total = workspace_of(state.running, chunks).total();
  if (works_beside(state)) total += workspace_of(*state.beside, chunks).total();
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const HeldBytes& one = chunks[c].held;
    total += double(state.held[c].whole) * (one.whole + one.logits);
    total += double(state.held[c].weight_only) * (one.weight_only + one.weight_only_logits);
  }
  const InTurns turns = in_turns(state, chunks);
  return total + std::max(Bytes{}, turns.layer - turns.logits);
}

}  // namespace

ChunkGroups chunk_groups(const Model& model, const Layout& layout, const Stage& stage) {
  ChunkGroups found;
  for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
    const Chunk& chunk = stage.chunks[c];
    std::vector<LayerRun> layers = chunk_layers(model, layout, stage, c);
    if (c > 0) {
      const ChunkGroup& before = found.groups.back();
      if (chunk.embedding == before.chunk.embedding && chunk.head == before.chunk.head &&
          chunk.mtp == before.chunk.mtp && layers == before.layers) {
        ++found.sizes.back();
        continue;
      }
    }
    found.groups.push_back({chunk, std::move(layers)});
    found.sizes.push_back(1);
  }
  return found;
}

ChunkMemory chunk_memory(const UnitBytes& units, const Layout& layout, const ChunkGroup& group,
                         PeakScope scope) {
  const Chunk layers{.num_layers = group.chunk.num_layers};
  return {chunk_activations(units, group.layers, group.chunk),
          forward_workspace(units, group.chunk, scope),
          backward_workspace(units, layout, group.layers, group.chunk, scope),
          weight_workspace(units, group.chunk),
          chunk_activations(units, group.layers, layers).whole / std::max(1, layers.num_layers)};
}

std::vector<ChunkMemory> chunk_memories(const UnitBytes& units, const Layout& layout,
                                        const ChunkGroups& groups, PeakScope scope) {
  std::vector<ChunkMemory> chunks;
  for (std::size_t g = 0; g < groups.sizes.size(); ++g) {
    chunks.insert(chunks.end(), static_cast<std::size_t>(groups.sizes[g]),
                  chunk_memory(units, layout, groups.groups[g], scope));
  }
  return chunks;
}

StageMemory held_memory(const std::vector<HeldMicroBatches>& held,
                        const std::vector<ChunkMemory>& chunks) {
  StageMemory memory;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const HeldBytes& one = chunks[c].held;
    const double whole = held[c].whole;
    const double weight_only = held[c].weight_only;
    memory.activations += whole * one.whole + weight_only * one.weight_only;
    memory.logits += whole * one.logits + weight_only * one.weight_only_logits;
  }
  return memory;
}

StageMemory memory_at(const InFlightState& state, const std::vector<ChunkMemory>& chunks) {
  StageMemory memory = held_memory(state.held, chunks);
  add_workspace(memory, workspace_of(state.running, chunks));
  if (works_beside(state)) add_workspace(memory, workspace_of(*state.beside, chunks));
  const InTurns turns = in_turns(state, chunks);
  if (turns.layer > turns.logits) {
    memory.activations += turns.layer;
    memory.logits -= turns.logits;
  }
  return memory;
}

StageMemory standing_memory(const UnitBytes& units, const Layout& layout, unsigned kinds) {
  StageMemory memory;
  memory.operator_workspace = units.placeholders_of(kinds);
  memory.communication_buffers = pipeline_buffers(units, layout) +
                                 sequence_gather_buffer(units, layout) +
                                 expert_dispatch_bytes(units, layout, kinds);
  return memory;
}

StageMemory moving_memory(const StageMemory& standing, const std::vector<ChunkMemory>& chunks,
                          const std::vector<InFlightState>& states) {
  const InFlightState* fullest = nullptr;
  Bytes most;
  for (const InFlightState& state : states) {
    const Bytes now = total_at(state, chunks);
    if (now > most) {
      most = now;
      fullest = &state;
    }
  }
  StageMemory peak;
  if (fullest != nullptr) peak = memory_at(*fullest, chunks);
  peak.operator_workspace += standing.operator_workspace;
  peak.communication_buffers += standing.communication_buffers;
  return in_whole_bytes(peak);
}

StageMemory moving_memory(const Model& model, const Job& job, const Layout& layout,
                          const Stage& stage, int stage_index, PeakScope scope) {
  const UnitBytes units = unit_bytes(model, job, layout);
  const auto states =
      in_flight_states(layout.schedule, pipeline_sizes(layout, job.global_batch_size), stage_index);
  return moving_memory(standing_memory(units, layout, kinds_of(model, stage)),
                       chunk_memories(units, layout, chunk_groups(model, layout, stage), scope),
                       states);
}

}  // namespace meshwright
