// SPDX-License-Identifier: Apache-2.0
// Multi-latent attention (DeepSeek-V2, arXiv 2405.04434, 2.1) of a tensor rank's heads, as
// Megatron-LM's core/transformer/multi_latent_attention.py splits it: the down projections are
// whole on each rank and work on its share of the sequence, the up projections are split by heads.
// The last qk_pos_emb_head_dim columns of queries and keys are rotated; keys share theirs.
#pragma once

#include <optional>
#include <string>

#include "calibrate/trial/layer/core_attention.h"
#include "calibrate/trial/layer/linear.h"
#include "calibrate/trial/layer/norm.h"

namespace meshwright::calibrate {

struct MultiLatentSaved {
  Tensor query_latent, key_value_latent;  // outputs of the down projections
  NormSaved query_norm, key_value_norm;
  Tensor query_normed, key_value_normed;
  Tensor query;       // where it has no latent and the up projections are run again
  Tensor rotary_key;  // of all rows, not yet rotated
  Tensor heads;
  CoreSaved core;
  Tensor merged;  // the projection's input
};

class MultiLatentAttention {
 public:
  MultiLatentAttention(const TrialContext& context, ParameterStore& store, const std::string& name,
                       std::int64_t window);

  [[nodiscard]] Tensor forward(const Tensor& x, MultiLatentSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor backward(const Tensor& dy, const Tensor& x, MultiLatentSaved& saved) const;

 private:
  [[nodiscard]] Tensor down(const Tensor& x, const Parameter& weight) const;
  void down_backward(const Tensor& dlatent, const Tensor& x, const Parameter& weight,
                     const Tensor& dx) const;
  // From the latents to the heads.
  void up(const Tensor& x, MultiLatentSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor gathered_rotary_key(const Tensor& latent, Phase phase) const;
  // Queries, keys and values, row by row, to heads, and back.
  [[nodiscard]] Tensor heads_of(const Tensor& query, const Tensor& key_value,
                                const Tensor& rotary_key) const;
  void split_heads(const Tensor& dheads, const Tensor& dquery, const Tensor& dkey_value,
                   const Tensor& drotary_key) const;
  void put(const Tensor& heads, Tensor rows, std::int64_t at, std::int64_t width) const;
  [[nodiscard]] Tensor take(const Tensor& heads, std::int64_t at, std::int64_t width) const;
  // The last columns of `rows` x `groups` vectors of `width`.
  void rotate(const Tensor& x, std::int64_t groups, std::int64_t width, bool inverse) const;
  [[nodiscard]] Tensor query_backward(const Tensor& dquery, const Tensor& x,
                                      MultiLatentSaved& saved) const;
  void key_value_backward(const Tensor& dkey_value, Tensor drotary_key, const Tensor& x,
                          MultiLatentSaved& saved, const Tensor& dx) const;

  const TrialContext& context_;
  const LatentAttention& mla_;
  std::int64_t heads_, key_width_;  // heads of this rank
  Parameter* query_down_ = nullptr;
  std::optional<Norm> query_norm_;
  ColumnParallelLinear query_up_;
  Parameter& key_value_down_;
  Norm key_value_norm_;
  ColumnParallelLinear key_value_up_;
  CoreAttention core_;
  RowParallelLinear projection_;
};

}  // namespace meshwright::calibrate
