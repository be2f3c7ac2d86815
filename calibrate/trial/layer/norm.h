// SPDX-License-Identifier: Apache-2.0
// Layer norm or RMS norm on a tensor rank's rows, or nothing where the model has none.
#pragma once

#include <string>

#include "calibrate/trial/ranks/context.h"
#include "calibrate/trial/states/parameters.h"

namespace meshwright::calibrate {

// Arrays besides the input that a norm's backward pass needs.
struct NormSaved {
  Tensor mean, rstd;  // RMS norm has no mean
};

// Tensor ranks norm pieces of the sequence, where it is cut, or each its own heads: then gradients
// of the weights are parts of a sum.
enum class NormOf { tokens, heads };

class Norm {
 public:
  // width: of a row; 0: hidden.
  Norm(const TrialContext& context, ParameterStore& store, const std::string& name,
       std::int64_t width = 0, NormOf of = NormOf::tokens);

  // `result`: what the output is stored as; of 16 bits where only products read it.
  [[nodiscard]] Tensor forward(const Tensor& x, NormSaved& saved,
                               Precision result = Precision::fp32) const;
  // The gradient of x.
  [[nodiscard]] Tensor backward(Tensor dy, const Tensor& x, const NormSaved& saved) const;

 private:
  const TrialContext& context_;
  std::int64_t width_;
  Parameter* gamma_ = nullptr;
  Parameter* beta_ = nullptr;  // of layer norm only
};

}  // namespace meshwright::calibrate
