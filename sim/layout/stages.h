// SPDX-License-Identifier: Apache-2.0
// Which layers, embedding and head each pipeline stage holds.
#pragma once

#include <vector>

#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "sim/schedule/instruction.h"

namespace meshwright {

// One model chunk: a run of consecutive layers. A stage holds virtual_pipeline_parallel_size of
// them.
struct Chunk {
  int first_layer = 0;  // index in the model, from 0
  int num_layers = 0;
  bool embedding = false;  // the very first chunk
  bool head = false;       // the very last chunk: final norm, logits, loss
  bool mtp = false;        // multi-token prediction's layers, if the model has any
  // Hidden states per token that enter and leave the chunk: 1. Between multi-token prediction and a
  // loss on another stage there is one more for each depth.
  int hidden_states_in = 1;
  int hidden_states_out = 1;
};

// Sizes for the schedule's programs. A single stage runs each micro-batch forward and backward.
constexpr PipelineSizes pipeline_sizes(const Layout& layout, int global_batch_size) {
  return {.stages = layout.pipeline_parallel_size,
          .micro_batches = num_micro_batches(global_batch_size, layout),
          .chunks = layout.virtual_pipeline_parallel_size,
          .pairs_passes = layout.overlap_moe_expert_parallel_comm};
}

// The norm behind the last layer: before the head, or before multi-token prediction, which starts
// from it. Megatron-LM then has it beside the last layer (transformer_block.py,
// has_final_layernorm_in_this_stage): another stage only where m stands without a t.
inline bool has_final_norm(const Model& model, const Chunk& chunk) {
  return model.mtp_num_layers > 0 ? chunk.mtp : chunk.head;
}

struct Stage {
  std::vector<Chunk> chunks;  // in the order in which a micro-batch meets them (mirrored: the
                              // chunk of the forward direction, then of the opposite one)
  [[nodiscard]] int num_layers() const {
    int n = 0;
    for (const Chunk& c : chunks) n += c.num_layers;
    return n;
  }
  [[nodiscard]] bool has_embedding() const {
    for (const Chunk& c : chunks) {
      if (c.embedding) return true;
    }
    return false;
  }
  [[nodiscard]] bool has_head() const {
    for (const Chunk& c : chunks) {
      if (c.head) return true;
    }
    return false;
  }
  [[nodiscard]] bool has_mtp() const {
    for (const Chunk& c : chunks) {
      if (c.mtp) return true;
    }
    return false;
  }
};

// The stages of a legal layout, first to last. Chunk c of stage r is the model's chunk c*p + r
// (Megatron interleaving). A folded placement makes a V of 2p chunks: stage r holds r and 2p-1-r. A
// mirrored one cuts the model into p chunks and holds each twice: stage r holds chunks r and p-1-r,
// so the layers of all stages add up to twice the model's, and each chunk sees half the
// micro-batches. A pipeline_layout says all of it.
std::vector<Stage> pipeline_stages(const Model& model, const Layout& layout);

// The stages of a layout with a pipeline_layout that obeys its rules.
std::vector<Stage> listed_stages(const Layout& layout);

// Nanotron's layers of each stage (models/base.py): blocks go to a stage until the sum of costs
// passes its share of the total; the block that passes it still belongs there, and at most one
// stage ends at a block. A layer costs 4h^2 + 3hf, the output linear Vh; final norm, cast and loss
// cost nothing. Stages that are left with none of them: fewer stages come back than were asked for.
// An output linear that is not on the last stage is counted there all the same.
std::vector<int> layers_by_cost(const Model& model, int stages);

}  // namespace meshwright
