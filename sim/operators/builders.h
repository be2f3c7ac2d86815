// SPDX-License-Identifier: Apache-2.0
// The blocks that operators.cc strings together, and the sizes that they share.
#pragma once

#include <vector>

#include "sim/block/indexer.h"
#include "sim/operators/operators.h"

namespace meshwright {

// Sizes of one rank's share of one pass.
struct RankShape {
  std::int64_t rows = 0;                 // b * q: tokens that a column-parallel linear sees
  std::int64_t sequence_rows = 0;        // rows / t under sequence parallelism, else rows
  std::int64_t tensor_size = 1;          // t
  std::int64_t gathered_rows = 0;        // rows that DTensor keeps beside a rank's: rows less these
  double width = 2;                      // bytes of a stored activation
  double operand = 2;                    // bytes of a linear's input, kept for its weight gradient
  bool scaled_blocks = false;            // operands of blocks with scales that products know
  double cast = 0, cast_after_norm = 0;  // bytes that casting one number of 16 bits moves
  double transposed = 0;        // bytes that transposing one number of a weight moves, backward
  double attention = 2;         // bytes of attention's inputs and output, kept for its backward
  double activation_input = 2;  // bytes of a gated activation's input, kept for its backward
  bool eager = false;           // the job's kernel_fusion
  bool transformers = false;    // eager as Hugging Face transformers
  double mask = 0;              // bytes of a dropout mask's entry: 1 with dropout, else 0
};
RankShape rank_shape(const Numerics& numerics, const TokenShape& tokens, const Layout& layout);

// Query and key-value heads of one tensor rank; key-value heads are replicated when fewer than
// ranks.
std::int64_t local_heads(const Model& model, const Layout& layout);
std::int64_t local_query_groups(const Model& model, const Layout& layout);

Operator gemm_operator(std::string_view name, Module module, std::int64_t m, std::int64_t n,
                       std::int64_t k, const RankShape& shape);
// A part's product of `rows` tokens on one of `ranks` that share its weight.
Operator linear_operator(const LayerPart& part, std::int64_t rows, std::int64_t ranks,
                         const RankShape& shape);
inline Operator linear_operator(const LayerPart& part, std::int64_t rows, const RankShape& shape) {
  return linear_operator(part, rows, shape.tensor_size, shape);
}
// `elements` values; forward and backward read or write each this many times.
Operator memory_operator(std::string_view name, Module module, std::string_view kernel,
                         double elements, double forward_touches, double backward_touches,
                         const RankShape& shape);
// Tells whether norms work on an fp32 copy of their input, which backward needs.
bool casts_in_norm(const Model& model, const RankShape& shape);
Operator norm_operator(std::string_view name, Module module, const Model& model, std::int64_t rows,
                       std::int64_t width, const RankShape& shape);
// Residual addition (and dropout): its output is the next norm's input.
Operator residual_operator(std::string_view name, const Model& model, const RankShape& shape);

using Operators = std::vector<Operator>;
// Hyper-connections (streams.cc): the input of a mixer or of an MLP, mixed from the residual
// streams.
void append_stream_input(Operators& ops, bool mixer, const Model& model, const RankShape& shape);
// A linear, in fp8 and fp4 after the cast of its operands: its input forward, its output's gradient
// backward (narrow_format.h).
enum class Feed { norm, other };
void append_linear(Operators& ops, const Operator& linear, Feed feed, const RankShape& shape);
void append_attention(Operators& ops, const Model& model, LayerKind kind, const Numerics& numerics,
                      const TokenShape& tokens, const Layout& layout);
// The indexer's products and scores (indexer.cc).
void append_indexer(Operators& ops, const Model& model, LayerKind kind, const Numerics& numerics,
                    const TokenShape& tokens, const Layout& layout, const RankShape& shape);
void append_recurrent(Operators& ops, const Model& model, const TokenShape& tokens,
                      const Layout& layout, const RankShape& shape);
void append_dense_mlp(Operators& ops, const Model& model, const RankShape& shape);
void append_experts(Operators& ops, const Model& model, const Layout& layout,
                    const RankShape& shape);

// Freezes the weights of one layer's operators and puts LoRA's adapters beside them (adapters.cc).
void add_adapters(Operators& ops, const Model& model, const Numerics& numerics,
                  const RankShape& shape);
// Takes the weight gradients, and what is kept for them alone, from operators without adapters.
void freeze_weights(Operators& ops, const RankShape& shape);

// Sets saved_by_op and again_by_op of one layer's operators, in their order (op_recompute.cc).
void mark_op_recompute(Operators& ops, const Model& model, const Layout& layout,
                       const RankShape& shape);

// Query-key pairs that one head computes for one sequence on one context rank. New tokens are the
// last of their sequence: q of them see q * (k - q / 2) keys when causal and fused, fewer under a
// sliding window, q * k otherwise. Context ranks share the pairs evenly.
double attention_pairs(const Model& model, LayerKind kind, const Numerics& numerics,
                       const TokenShape& tokens, int context_ranks);
// The same for the entries that a query sees.
double seen_pairs(const SeenEntries& seen, const Numerics& numerics, const TokenShape& tokens,
                  int context_ranks);

}  // namespace meshwright
