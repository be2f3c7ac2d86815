// SPDX-License-Identifier: Apache-2.0
// The activation bytes that one micro-batch leaves on a stage, chunk by chunk.
//
// A layer keeps the sum of its operators' saved bytes, less what is recomputed; a layer recomputed
// whole keeps its input, 2sbh/c in 16 bits, /t under sequence parallelism (Korthikanti 2022,
// arXiv 2205.05198, table 2). Where the backward pass is split, each linear's input and the
// gradient of its output stay until the weight gradient (Qi 2024, arXiv 2401.10241, table 1: 32sbh
// a layer).
#pragma once

#include <vector>

#include "sim/base/numerics.h"
#include "sim/base/units.h"
#include "sim/layout/layout.h"
#include "sim/layout/stages.h"
#include "sim/layout/token_shape.h"
#include "sim/model/model.h"

namespace meshwright {

// The tensor between two layers, as one rank holds it.
Bytes layer_input_bytes(const Model& model, const Numerics& numerics, const TokenShape& tokens,
                        const Layout& layout);

// Activation bytes of one micro-batch and one layer.
Bytes layer_activation_bytes(const Model& model, LayerKind kind, const Numerics& numerics,
                             const TokenShape& tokens, const Layout& layout, bool fully_recomputed);

// Bytes of a layer that stay between its input gradient and its weight gradient.
Bytes layer_weight_gradient_bytes(const Model& model, LayerKind kind, const Numerics& numerics,
                                  const TokenShape& tokens, const Layout& layout);

// Treatment of a layer of a stage: recompute and offload.
struct StageLayer {
  LayerKind kind;
  bool fully_recomputed = false;
  bool keeps_checkpoint = false;  // full recompute: the first of its unit
  bool offloaded = false;         // its activations go to the host
  bool operator==(const StageLayer&) const = default;
};
struct LayerRun {
  StageLayer layer;
  int count = 1;  // neighbours that are alike
  bool operator==(const LayerRun&) const = default;
};
// Layers of one chunk, first to last. The first `recompute_num_layers` (method block) and the first
// `cpu_offloading_num_layers` of the stage are treated.
std::vector<LayerRun> chunk_layers(const Model& model, const Layout& layout, const Stage& stage,
                                   std::size_t chunk);

struct UnitBytes;
// Bytes that such a layer keeps on the device, and its bytes on the host: all of an offloaded layer
// (cpu_offloading_num_layers), or the inputs of some modules (offload_modules). Full recompute
// leaves none of these.
Bytes kept_bytes(const StageLayer& layer, const UnitBytes& units);
Bytes offloaded_bytes(const StageLayer& layer, const UnitBytes& units);

// Logits and loss of one micro-batch.
struct LogitsBytes {
  Bytes kept;             // from forward to backward
  Bytes beside;           // a second copy while the loss runs, forward or backward
  Bytes gradient;         // bytes of the logits' gradient
  Bytes weight_gradient;  // bytes of the output matrix's gradient; it is then added to the main one
};
// Unfused, Megatron's cross-entropy keeps fp32 probabilities (4sbV/t) and casts from and to the
// activations' format (2sbV/t); fused (cross_entropy_loss_fusion) it turns the logits into their
// gradient in place.
// Eager (kernel_fusion): fp32 logits and softmax at once, and the micro-batch before still holds a
// copy of 4sbV/t (Ultra-Scale runs of one micro-batch a step need that much less).
LogitsBytes logits_bytes(const Model& model, const Numerics& numerics, const TokenShape& tokens,
                         const Layout& layout);

// One micro-batch of one chunk.
struct HeldBytes {
  Bytes whole;               // from forward to the input gradient, without logits
  Bytes logits;              // the same of logits and loss
  Bytes weight_only;         // from the input gradient to the weight gradient
  Bytes weight_only_logits;  // the logits' gradient, meanwhile
};
HeldBytes chunk_activations(const UnitBytes& units, const std::vector<LayerRun>& layers,
                            const Chunk& chunk);

// The embedding: token ids, masks, norm.
Bytes embedding_activation_bytes(const Model& model, const Numerics& numerics,
                                 const TokenShape& tokens, const Layout& layout);
// The head without logits: the last layer's output and its norm.
Bytes head_activation_bytes(const Model& model, const Numerics& numerics, const TokenShape& tokens,
                            const Layout& layout);
// Multi-token prediction's layers, look-ups and projections.
Bytes mtp_activation_bytes(const Model& model, const Numerics& numerics, const TokenShape& tokens,
                           const Layout& layout);
// Bytes kept for deferred weight gradients, as layer_weight_gradient_bytes().
Bytes mtp_weight_gradient_bytes(const Model& model, const Numerics& numerics,
                                const TokenShape& tokens, const Layout& layout);

// The tokens that leave in an expert all-to-all, and those that arrive are saved by the layer; or
// all ranks' tokens (use_global_buffer of Megatron-LM's MoEAllGatherTokenDispatcher).
// `kinds`: of the stage's layers.
Bytes expert_dispatch_bytes(const UnitBytes& units, const Layout& layout, unsigned kinds);

}  // namespace meshwright
