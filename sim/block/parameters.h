// SPDX-License-Identifier: Apache-2.0
// How many parameters a transformer has, counted matrix by matrix, to the unit.
#pragma once

#include <cstdint>

#include "sim/model/model.h"

namespace meshwright {

// Parameters of one layer, split by their treatment in tensor parallelism.
// - sharded: divided by the tensor size (column- and row-parallel linears, biases of
//   column-parallel ones).
// - replicated: whole on each tensor rank (norms, biases of row-parallel linears, router, MLA's
// down
//   projections).
// - expert: divided by expert x expert-tensor size.
struct LayerParameters {
  std::int64_t sharded = 0;
  std::int64_t replicated = 0;
  std::int64_t expert = 0;
  [[nodiscard]] std::int64_t total() const { return sharded + replicated + expert; }
};

LayerParameters layer_parameters(const Model& model, LayerKind kind);

// Token embedding (rows = vocab_size), learned positions, embedding norm.
std::int64_t embedding_parameters(const Model& model, std::int64_t vocab_rows);
// Final norm, and the head's matrix when it is not tied.
std::int64_t head_parameters(const Model& model, std::int64_t vocab_rows);
// One multi-token-prediction layer: norms of the hidden state, of the next token's embedding and of
// the output, the projection 2h -> h, one transformer layer (DeepSeek-V3, arXiv 2412.19437, 2.2).
LayerParameters mtp_layer_parameters(const Model& model);

// All parameters of the published checkpoint: no vocabulary padding, multi-token prediction left
// out.
std::int64_t total_parameters(const Model& model);
// Fewer than 10^18 parameters, so that the counts here cannot overflow; readers refuse other
// shapes.
bool is_countable(const Model& model);
// Parameters that one token passes through (experts: top-k of them), both embeddings counted.
std::int64_t active_parameters(const Model& model);

// Vocabulary rounded up to a multiple of make_vocab_size_divisible_by * tensor_parallel_size
// (Megatron-LM --make-vocab-size-divisible-by).
std::int64_t padded_vocab_size(const Model& model, int divisible_by, int tensor_parallel_size);

}  // namespace meshwright
