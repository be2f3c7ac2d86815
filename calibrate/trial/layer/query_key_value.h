// SPDX-License-Identifier: Apache-2.0
// The fused query-key-value linear on one tensor rank, and its columns by heads.
//
// Columns are Megatron-LM's: for each query group its r = heads / groups queries, one key, one
// value. With fewer groups than ranks the linear's columns are still split evenly; the products are
// gathered and each rank picks its queries and its group's key and value, whose gradients the
// reduce-scatter sums (core/transformer/attention.py). An inference engine repeats them instead:
// each rank has the columns of its queries and of its group's key and value (vLLM
// QKVParallelLinear), and nothing is gathered.
//
// By heads: (groups of this rank, batch, r + 2, positions, width), so that the queries of a group
// are one matrix of r * positions rows for one key matrix.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/trial/layer/linear.h"
#include "calibrate/trial/layer/norm.h"

namespace meshwright::calibrate {

// Inputs of the norms of queries and keys, one head after the other.
struct HeadNormsSaved {
  Tensor queries, keys;
  NormSaved query_norm, key_norm;
};

// Where there are fewer groups than ranks. Repeated groups have no backward pass.
enum class SharedGroups { gathered, repeated };

class QueryKeyValue {
 public:
  QueryKeyValue(const TrialContext& context, ParameterStore& store, const std::string& name,
                SharedGroups shared = SharedGroups::gathered);

  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] std::int64_t groups() const { return groups_; }             // of this rank
  [[nodiscard]] std::int64_t queries_of_group() const { return queries_; }  // of this rank
  [[nodiscard]] std::int64_t head_size() const { return context_.positions * width_; }
  // Between the first numbers of two (group, sequence) blocks.
  [[nodiscard]] std::int64_t block_size() const { return (queries_ + 2) * head_size(); }
  [[nodiscard]] std::int64_t blocks() const { return groups_ * context_.layout.micro_batch_size; }

  // Queries and keys are normed, head by head, where the model has such norms (Qwen3), and rotated
  // where it has rotary positions.
  [[nodiscard]] Tensor forward(const Tensor& x, HeadNormsSaved& saved, Phase phase) const;
  // The gradient of x from the gradient by heads, which is overwritten.
  [[nodiscard]] Tensor backward(Tensor dheads, const Tensor& x, HeadNormsSaved& saved) const;

 private:
  // Columns of the group that this rank works on, in the gathered pieces, and where they go.
  struct Run {
    std::int64_t piece, from, to, cols;
  };
  // Weight and bias (null: none) of some of the fused columns, in the order of a rank's own.
  struct OwnColumns {
    Parameter *weight, *bias;
    std::int64_t cols;
  };
  [[nodiscard]] bool shares_groups() const;
  [[nodiscard]] bool has_bias() const;
  void add_own_columns(ParameterStore& store, const std::string& name, std::int64_t first,
                       std::int64_t cols);
  // Row by row this rank's queries, key and value of each of its groups.
  [[nodiscard]] Tensor projected(const Tensor& x, Phase phase) const;
  [[nodiscard]] Tensor repeated(const Tensor& x) const;
  [[nodiscard]] std::vector<Run> own_runs() const;
  [[nodiscard]] Tensor pick(Tensor fused, Phase phase) const;
  [[nodiscard]] Tensor put_back(Tensor own) const;
  void rotate(const Tensor& heads, bool inverse) const;
  // The numbers of a block's heads from `first` on, or of `from` back into them.
  [[nodiscard]] Tensor taken(const Tensor& heads, std::int64_t first, std::int64_t count) const;
  void put(const Tensor& heads, std::int64_t first, const Tensor& from) const;
  void norm_heads(const Tensor& heads, HeadNormsSaved& saved) const;
  void norm_heads_backward(const Tensor& dheads, HeadNormsSaved& saved) const;

  const TrialContext& context_;
  std::int64_t width_, groups_, queries_;
  std::optional<ColumnParallelLinear> linear_;
  std::vector<OwnColumns> own_columns_;  // where groups are repeated, instead
  std::optional<Norm> query_norm_, key_norm_;
};

}  // namespace meshwright::calibrate
