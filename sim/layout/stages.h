// SPDX-License-Identifier: Apache-2.0
// Which layers, embedding and head each pipeline stage holds.
#pragma once

#include <vector>

#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright {

// One model chunk: a run of consecutive layers. A stage holds virtual_pipeline_parallel_size of
// them.
struct Chunk {
  int first_layer = 0;
  int num_layers = 0;
  bool embedding = false;  // the very first chunk
  bool head = false;       // the very last chunk: final norm, logits, loss, multi-token prediction
};

struct Stage {
  std::vector<Chunk> chunks;  // in the order in which a micro-batch meets them
  [[nodiscard]] int num_layers() const {
    int n = 0;
    for (const Chunk& c : chunks) n += c.num_layers;
    return n;
  }
  [[nodiscard]] bool has_embedding() const { return chunks.front().embedding; }
  [[nodiscard]] bool has_head() const {
    for (const Chunk& c : chunks) {
      if (c.head) return true;
    }
    return false;
  }
};

// The stages of a legal layout, first to last. Chunk c of stage r is the model's chunk c*p + r
// (Megatron interleaving); zb_v and dualpipe fold the model: chunk 1 of stage r is chunk 2p-1-r.
std::vector<Stage> pipeline_stages(const Model& model, const Layout& layout);

}  // namespace meshwright
