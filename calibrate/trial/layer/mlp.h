// SPDX-License-Identifier: Apache-2.0
// A dense MLP on one tensor rank: column-parallel linear, activation, row-parallel linear. It is
// the MLP of a layer, or the shared expert of a layer with experts.
#pragma once

#include <string>

#include "calibrate/trial/layer/linear.h"
#include "sim/block/part.h"

namespace meshwright::calibrate {

struct MlpSaved {
  Tensor fc1, activation;
  Tensor dactivation;  // between the halves of backward
};

// The model's activation of `rows` rows; of gated ones a row of x is twice `cols` long.
void activate(const TrialContext& context, const float* x, const float* bias, Numbers y,
              std::int64_t rows, std::int64_t cols);
void activate_backward(const TrialContext& context, const float* dy, const float* x,
                       const Parameter* bias, Numbers dx, std::int64_t rows, std::int64_t cols);

class Mlp {
 public:
  Mlp(const TrialContext& context, ParameterStore& store, const std::string& name,
      std::int64_t ffn_hidden_size, bool bias, const transfer_names::BlockNames& names);

  [[nodiscard]] Tensor forward(const Tensor& x, MlpSaved& saved, Phase phase) const;
  // Rows of this rank's part of the output, without fc2's bias; the caller sums the tensor ranks'.
  [[nodiscard]] Tensor partial(const Tensor& x) const;
  // The gradient of x.
  [[nodiscard]] Tensor backward(const Tensor& dy, const Tensor& x, MlpSaved& saved) const;

  // Halves of the two.
  void fc1_forward(const Tensor& x, MlpSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor fc2_forward(const MlpSaved& saved, Phase phase) const;
  void fc2_backward(const Tensor& dy, MlpSaved& saved) const;
  [[nodiscard]] Tensor fc1_backward(const Tensor& x, MlpSaved& saved) const;

 private:
  [[nodiscard]] std::int64_t cols() const { return ffn_ / context_.layout.tensor_parallel_size; }

  const TrialContext& context_;
  std::int64_t ffn_;
  ColumnParallelLinear fc1_;
  RowParallelLinear fc2_;
};

}  // namespace meshwright::calibrate
