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
  kind.mtp = chunk.mtp && model.mtp_num_layers > 0;
  kind.hidden_states_in = chunk.hidden_states_in;
  kind.hidden_states_out = chunk.hidden_states_out;
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

// Tells whether each stage's chunks are alike, where embedding and loss count so many layers.
bool are_alike(const std::vector<Stage>& stages, int embedding_layers, int loss_layers) {
  const auto counted = [&](const Chunk& chunk) {
    return chunk.num_layers + (chunk.embedding ? embedding_layers : 0) +
           (chunk.head ? loss_layers : 0);
  };
  return std::all_of(stages.begin(), stages.end(), [&](const Stage& stage) {
    return std::all_of(stage.chunks.begin(), stage.chunks.end(), [&](const Chunk& chunk) {
      return chunk.hidden_states_out == 1 && counted(chunk) == counted(stage.chunks.front());
    });
  });
}
bool have_uneven_chunks(const std::vector<Stage>& stages) {
  return !are_alike(stages, 0, 0) && !are_alike(stages, 1, 1) && !are_alike(stages, 1, 0) &&
         !are_alike(stages, 0, 1);
}

std::vector<int> kinds_in_turn(const Model& model, const std::vector<Stage>& stages,
                               std::vector<ChunkKind>& kinds) {
  std::vector<int> all;
  for (std::size_t c = 0; c < stages.front().chunks.size(); ++c) {
    for (const Stage& stage : stages) {
      all.push_back(index_of(kinds, kind_of(model, stage.chunks[c], stage.num_layers())));
    }
  }
  return all;
}

}  // namespace

unsigned kinds_of(const Model& model, const Stage& stage) {
  unsigned kinds = 0;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      kinds |= 1U << kind_index(layer_kind(model, chunk.first_layer + i));
    }
    if (chunk.mtp && model.mtp_num_layers > 0) {
      kinds |= 1U << kind_index(layer_kind(model, model.num_layers - 1));
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
  if (shape.chunks_per_stage > 1 && have_uneven_chunks(stages)) {
    shape.uneven_chunks = kinds_in_turn(model, stages, shape.chunks);
  }
  return shape;
}

}  // namespace meshwright
