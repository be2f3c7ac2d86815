// SPDX-License-Identifier: Apache-2.0
// Context parallelism: each rank holds pieces of every sequence, and attention needs the others'
// keys and values (p2p: passed round a ring; all_gather), or the whole sequence of some of the
// heads (a2a), as Transformer Engine's context_parallel.py does.
//
// Rank r holds chunks r and 2c - 1 - r of the 2c chunks of a sequence. Under a causal mask all
// ranks then have the same work.
#pragma once

#include "calibrate/trial/ranks/context.h"

namespace meshwright::calibrate {

// Heads of one rank: blocks (group, sequence) of `queries` query heads, a key and a value, each of
// all positions, one behind the other.
struct HeadShape {
  std::int64_t groups = 0, queries = 0, key_width = 0, value_width = 0;
  [[nodiscard]] std::int64_t width() const { return queries * key_width + key_width + value_width; }
  [[nodiscard]] std::int64_t keys_at() const { return queries * key_width; }  // a position
  [[nodiscard]] std::int64_t values_at() const { return (queries + 1) * key_width; }
};

class ContextExchange {
 public:
  ContextExchange(const TrialContext& context, const HeadShape& shape);

  // Keys and values of all positions, in their order: blocks of keys and then values.
  [[nodiscard]] Tensor gather_keys(const Tensor& heads, Phase phase) const;
  // The sum of what all ranks have for this rank's positions, into the keys and values of `heads`.
  void scatter_key_gradients(const Tensor& gathered, const Tensor& heads) const;

  // This rank's share of the heads with all positions, from all heads with its positions; and back.
  [[nodiscard]] Tensor to_all_positions(const Tensor& heads, Phase phase) const;
  [[nodiscard]] Tensor to_own_positions(const Tensor& heads, Phase phase) const;
  // The same of outputs: (blocks, queries, positions, value_width).
  [[nodiscard]] Tensor outputs_to_all_positions(const Tensor& out, Phase phase) const;
  [[nodiscard]] Tensor outputs_to_own_positions(const Tensor& out, Phase phase) const;

 private:
  // Widths of the arrays (positions, width) that a block is made of.
  using Parts = std::vector<std::int64_t>;
  [[nodiscard]] Parts key_parts() const;
  [[nodiscard]] Parts head_parts() const;
  [[nodiscard]] Parts output_parts() const;
  // Between blocks of all positions and those of one rank's.
  void move_piece(const Parts& parts, float* whole, float* piece, int rank, std::int64_t blocks,
                  bool into_whole) const;
  [[nodiscard]] Tensor packed_keys(const Tensor& heads) const;
  void pass_round(std::string_view name, Phase phase, const float* send, float* receive,
                  std::int64_t count) const;
  [[nodiscard]] Tensor joined(const Parts& parts, const Tensor& own, Phase phase) const;
  [[nodiscard]] Tensor parted(const Parts& parts, const Tensor& all, Phase phase) const;

  const TrialContext& context_;
  HeadShape shape_;
  std::int64_t ranks_, own_;  // positions
  std::int64_t blocks_;       // of this rank's heads, before any exchange
};

}  // namespace meshwright::calibrate
