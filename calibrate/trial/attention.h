// SPDX-License-Identifier: Apache-2.0
// Multi-head causal attention, split by heads, through memory (no fused kernel): qkv, scores,
// softmax, context, projection. One entry here for each of sim/model/attention_operators.cc.
#pragma once

#include <string>

#include "calibrate/trial/linear.h"

namespace meshwright::calibrate {

struct AttentionSaved {
  Tensor heads;          // q, k and v by heads
  Tensor probabilities;  // (batch, heads, positions, positions); empty under selective recompute
  Tensor merged;         // the projection's input
};

class Attention {
 public:
  Attention(const TrialContext& context, ParameterStore& store, const std::string& name);

  [[nodiscard]] Tensor forward(const Tensor& x, AttentionSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor backward(const Tensor& dy, const Tensor& x, AttentionSaved& saved) const;

 private:
  [[nodiscard]] Tensor probabilities(const float* heads) const;
  [[nodiscard]] Tensor context(const float* heads, const float* probabilities) const;
  [[nodiscard]] GemmCall product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                                 const float* b, float* c) const;
  // Elements of q (or k, or v) of this rank.
  [[nodiscard]] std::int64_t block() const;

  const TrialContext& context_;
  std::int64_t width_, heads_, positions_, matrices_;
  ColumnParallelLinear qkv_;
  RowParallelLinear projection_;
};

}  // namespace meshwright::calibrate
