// SPDX-License-Identifier: Apache-2.0
// The stages of a layout, alike ones together: a search looks at the two to four that differ, not
// at all of them.
#pragma once

#include <array>
#include <vector>

#include "sim/layout/stages.h"

namespace meshwright {

// Inputs of a chunk's cost, except its place in the model.
struct ChunkKind {
  std::array<int, kLayerKinds> layers{};  // by kind_index
  int stage_layers = 0;  // layers of the chunk's stage, over which recompute is spread
  bool embedding = false, head = false;
  bool mtp = false;  // with multi-token prediction's layers
  int hidden_states_in = 1, hidden_states_out = 1;
  bool operator==(const ChunkKind&) const = default;
};

struct ChunkRun {
  int kind = 0;  // index into PipelineShape::chunks
  int count = 1;
  bool operator==(const ChunkRun&) const = default;
};

// Neighbouring stages that hold the same kinds of chunks, in the same order.
struct StageRun {
  Stage stage;         // the first of them
  unsigned kinds = 0;  // bits: kinds of its layers
  int first = 0;
  int count = 1;
  std::vector<ChunkRun> chunks;  // chunks of a stage; equal neighbours are one entry
  [[nodiscard]] int last() const { return first + count - 1; }
};

// The kinds of a stage's layers: bit kind_index of each.
unsigned kinds_of(const Model& model, const Stage& stage);

struct PipelineShape {
  std::vector<ChunkKind> chunks;
  std::vector<StageRun> runs;  // first stage to last
  int num_stages = 1;
  int chunks_per_stage = 1;  // virtual pipeline size
  // Kinds of the model's chunks, in its order, where those of a stage differ by more than that the
  // embedding or the loss takes the place of a layer; else empty.
  std::vector<int> uneven_chunks;
};

// For a valid layout.
PipelineShape pipeline_shape(const Model& model, const Layout& layout);

}  // namespace meshwright
