// SPDX-License-Identifier: Apache-2.0
// The activation bytes of one stage and one micro-batch, and what comes and goes beside them.
//
// A layer keeps the sum of its operators' saved bytes, less what is recomputed; a layer recomputed
// whole keeps its input, 2sbh/c in 16 bits, /t under sequence parallelism (Korthikanti 2022,
// arXiv 2205.05198, table 2).
#pragma once

#include "sim/job.h"
#include "sim/layout/layout.h"
#include "sim/layout/stages.h"
#include "sim/model/model.h"
#include "sim/units.h"

namespace meshwright {

// The tensor between two layers, as one rank holds it.
Bytes layer_input_bytes(const Model& model, const Job& job, const Layout& layout);

// All chunks of a stage, one micro-batch each; logits and loss are counted apart.
Bytes stage_activation_bytes(const Model& model, const Job& job, const Layout& layout,
                             const Stage& stage);

// What backward computes again at one time: the recomputed operators of one layer, or all layers
// between two checkpoints under full recompute with the uniform method.
Bytes recompute_workspace_bytes(const Model& model, const Job& job, const Layout& layout,
                                const Stage& stage);

// The layer that comes back from the host when activations are offloaded.
Bytes offload_reload_bytes(const Model& model, const Job& job, const Layout& layout,
                           const Stage& stage);

// Logits in the activations' format (2sbV/t) and the loss's fp32 probabilities (4sbV/t), for the
// head and each multi-token-prediction layer.
Bytes logits_bytes(const Model& model, const Job& job, const Layout& layout, const Stage& stage);

// The tokens that leave in an expert all-to-all; those that arrive are saved by the layer.
Bytes expert_dispatch_bytes(const Model& model, const Job& job, const Layout& layout,
                            const Stage& stage);

}  // namespace meshwright
