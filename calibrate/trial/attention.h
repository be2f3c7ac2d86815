// SPDX-License-Identifier: Apache-2.0
// Causal attention of a tensor rank's heads through memory (no fused kernel): qkv, scores, softmax,
// context, projection. One entry here for each of sim/model/attention_operators.cc; the queries of
// a group are one matrix against the group's key and value.
#pragma once

#include <string>

#include "calibrate/trial/query_key_value.h"

namespace meshwright::calibrate {

struct AttentionSaved {
  Tensor heads;          // q, k and v by heads
  Tensor probabilities;  // (groups, batch, queries, positions, positions); empty where core
                         // attention is recomputed
  Tensor merged;         // the projection's input
};

class Attention {
 public:
  Attention(const TrialContext& context, ParameterStore& store, const std::string& name);

  [[nodiscard]] Tensor forward(const Tensor& x, AttentionSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor backward(const Tensor& dy, const Tensor& x, AttentionSaved& saved) const;

 private:
  // Of the heads' queries, keys and values: the first number.
  [[nodiscard]] float* keys(const Tensor& heads) const;
  [[nodiscard]] float* values(const Tensor& heads) const;
  [[nodiscard]] std::int64_t query_rows() const;  // of one group and sequence
  [[nodiscard]] Tensor probabilities(const Tensor& heads) const;
  [[nodiscard]] Tensor context(const Tensor& heads, const Tensor& probabilities) const;
  [[nodiscard]] Tensor heads_gradient(const Tensor& dout, const AttentionSaved& saved) const;
  void multiply_blocks(GemmCall call) const;

  const TrialContext& context_;
  QueryKeyValue qkv_;
  RowParallelLinear projection_;
};

}  // namespace meshwright::calibrate
