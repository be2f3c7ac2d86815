// SPDX-License-Identifier: Apache-2.0
// A layer: its token mixer, its MLP or experts, and its norms.
#pragma once

#include "sim/block/part.h"

namespace meshwright {

// LayerParts of one layer, forward order; its norms are the last part.
LayerParts layer_parts(const Model& model, LayerKind kind);
// Norms over the hidden state in one layer: in front of its mixer, in front of its MLP, after each.
int layer_norms(const Model& model, LayerKind kind);
// Hyper-connections (DeepSeek-V4) of n residual streams. They have weights of the streams in a
// block's input (n), of its output in the streams (n), and of the streams in each other (n x n).
// Each weight has a bias, and each of the three kinds a factor.
LayerPart stream_weights(const Model& model, bool mixer);
// Weights that join the streams in front of the final norm; nothing where there is one.
LayerPart final_streams(const Model& model);
// The projection 2h -> h of multi-token prediction (DeepSeek-V3, arXiv 2412.19437, 2.2), with the
// norms of the hidden state, of the next token's embedding and of the output.
LayerPart mtp_projection(const Model& model);

}  // namespace meshwright
