// SPDX-License-Identifier: Apache-2.0
// LayerParts of softmax attention: grouped (MHA, GQA, MQA) and latent.
#pragma once

#include "sim/block/part.h"

namespace meshwright {

// Query, key and value in one column-parallel linear.
LayerPart query_key_value(const Model& model);
// Row-parallel projection behind attention.
LayerPart attention_projection(const Model& model);

// DeepSeek-V2 (arXiv 2405.04434), 2.1: down projections are whole on each tensor rank, each latent
// vector has a norm, up projections are split by heads. A model without q_lora_rank projects its
// query directly.
LayerPart direct_query(const Model& model);
LayerPart query_down(const Model& model);
LayerPart query_up(const Model& model);
LayerPart key_value_down(const Model& model);
LayerPart key_value_up(const Model& model);

// All of a layer's attention; none where the model has no heads.
LayerParts attention_parts(const Model& model, LayerKind kind);

// DeepSeek-V4 (compressed.cc): one vector of key and value, the output by groups of heads, and the
// compressor of a layer's kind.
LayerPart shared_key_value(const Model& model);
LayerPart grouped_output(const Model& model);
void append_compressor(LayerParts& parts, const Model& model, LayerKind kind);

}  // namespace meshwright
