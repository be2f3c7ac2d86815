// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/pipeline_shape.h"

#include <algorithm>

namespace meshwright {
namespace {

ChunkKind kind_of(const Model& model, const Chunk& chunk, int stage_layers) {
  ChunkKind kind;
  for (int i = chunk.first_layer; i < chunk.first_layer + chunk.num_layers; ++i) {
    ++kind.layers[kind_index(layer_kind(model, i))];
  }
  kind.stage_layers = stage_layers;
  kind.embedding = chunk.embedding;
  kind.head = chunk.head;
  return kind;
}

int index_of(std::vector<ChunkKind>& kinds, const ChunkKind& kind) {
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  if (found == kinds.end()) {
    kinds.push_back(kind);
    return static_cast<int>(kinds.size()) - 1;
  }
  return static_cast<int>(found - kinds.begin());
}

}  // namespace

unsigned kinds_of(const Model& model, const Stage& stage) {
  unsigned kinds = 0;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      kinds |= 1U << kind_index(layer_kind(model, chunk.first_layer + i));
    }
  }
  return kinds;
}

PipelineShape pipeline_shape(const Model& model, const Layout& layout) {
  PipelineShape shape;
  const std::vector<Stage> stages = pipeline_stages(model, layout);
  shape.num_stages = static_cast<int>(stages.size());
  shape.chunks_per_stage = static_cast<int>(stages.front().chunks.size());
  for (int i = 0; i < shape.num_stages; ++i) {
    const Stage& stage = stages[static_cast<std::size_t>(i)];
    std::vector<ChunkRun> chunks;
    for (const Chunk& chunk : stage.chunks) {
      const int kind = index_of(shape.chunks, kind_of(model, chunk, stage.num_layers()));
      if (!chunks.empty() && chunks.back().kind == kind) {
        ++chunks.back().count;
      } else {
        chunks.push_back({kind, 1});
      }
    }
    if (!shape.runs.empty() && shape.runs.back().chunks == chunks) {
      ++shape.runs.back().count;
    } else {
      shape.runs.push_back({stage, kinds_of(model, stage), i, 1, std::move(chunks)});
    }
  }
  return shape;
}

}  // namespace meshwright
