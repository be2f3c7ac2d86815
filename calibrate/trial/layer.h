// SPDX-License-Identifier: Apache-2.0
// One transformer layer on one tensor rank, operator by operator as sim/model/operators.cc lists
// them. A model without attention has fc1, activation, fc2 only, and no residual.
#pragma once

#include <optional>
#include <string>

#include "calibrate/trial/attention.h"
#include "calibrate/trial/linear.h"
#include "calibrate/trial/norm.h"

namespace meshwright::calibrate {

// What one micro-batch leaves in one layer for its backward pass.
struct LayerSaved {
  Tensor input;
  Tensor attention_input, middle;  // output of the first norm; sum after attention
  NormSaved attention_norm;
  AttentionSaved attention;
  Tensor mlp_input;  // output of the second norm
  NormSaved mlp_norm;
  Tensor fc1, activation;
};

class Layer {
 public:
  // `recomputed`: only the input is kept, and the forward pass is run again in backward.
  Layer(const TrialContext& context, ParameterStore& store, int index, bool recomputed);

  [[nodiscard]] Tensor forward(Tensor x, LayerSaved& saved) const;
  [[nodiscard]] Tensor backward(Tensor dy, LayerSaved& saved) const;

 private:
  [[nodiscard]] Tensor run_forward(Tensor x, LayerSaved& saved, Phase phase) const;
  // Adds the MLP to x = saved.middle (or saved.input where nothing attends).
  [[nodiscard]] Tensor mlp_forward(const Tensor& x, LayerSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor mlp_backward(const Tensor& dy, const Tensor& x, LayerSaved& saved) const;
  [[nodiscard]] Tensor attention_backward(const Tensor& dy, LayerSaved& saved) const;
  void activate(const float* x, float* y) const;
  void activate_backward(const float* dy, const float* x, float* dx) const;

  const TrialContext& context_;
  bool recomputed_;
  std::optional<Norm> attention_norm_;
  std::optional<Attention> attention_;
  Norm mlp_norm_;
  ColumnParallelLinear fc1_;
  RowParallelLinear fc2_;
};

}  // namespace meshwright::calibrate
