// SPDX-License-Identifier: Apache-2.0
// Bytes of one micro-batch of everything that a chunk is made of: a layer of each kind, the
// embedding, the head. They depend on tensor, context and expert sizes, micro-batch and recompute;
// not on pipeline, schedule or data size, so that many layouts share them.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "sim/layout/pipeline_shape.h"
#include "sim/memory/activation_memory.h"

namespace meshwright {

// Sizes of one layer's tensors, and what it keeps or runs again, MLP and the rest apart.
struct LayerSizes {
  Bytes hidden;        // input of fc2
  Bytes hidden_input;  // output of fc1: gate and up
  Bytes dispatched;    // tokens of experts
  Bytes heads;         // query, key, value and output of attention
  Bytes scores;        // gradients before and after softmax of unfused attention
  Bytes kept_mlp, kept_other;
  Bytes again_mlp, again_other;
};

struct LayerBytes {
  Bytes kept;             // until backward
  Bytes offloaded;        // part of it that offload_modules names
  Bytes weight_gradient;  // from the input gradient to the weight gradient
  LayerSizes sizes;
  LayerSizes recomputed;  // whole
};

struct UnitBytes {
  std::array<LayerBytes, kLayerKinds> layers;  // by kind_index; empty where the model has none
  Bytes input;      // the tensor between two layers: the residual streams, and their gradient
  Bytes hidden;     // one of the streams, as blocks see it
  Bytes gathered;   // the same with the whole sequence, as column-parallel linears see it
  Bytes embedding;  // kept
  Bytes head;       // kept, without logits
  Bytes mtp;        // kept, of all of multi-token prediction
  Bytes mtp_weight_gradient;  // kept until its weight gradients, of all
  StageLayer mtp_layer;
  LogitsBytes logits;
  int head_passes = 1;  // with multi-token prediction's
  // Weight-gradient placeholders of a stage, by the set of its layers' kinds (bit kind_index).
  std::vector<std::pair<unsigned, Bytes>> placeholders;
  [[nodiscard]] Bytes placeholders_of(unsigned kinds) const;
};

UnitBytes unit_bytes(const Model& model, const Numerics& numerics, const TokenShape& tokens,
                     const Layout& layout);
inline UnitBytes unit_bytes(const Model& model, const TrainingJob& job, const Layout& layout) {
  return unit_bytes(model, job, micro_batch_tokens(job, layout), layout);
}

}  // namespace meshwright
