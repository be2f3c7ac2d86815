// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/norm.h"

#include <utility>

namespace meshwright::calibrate {

Norm::Norm(const TrialContext& context, ParameterStore& store, const std::string& name,
           std::int64_t width, NormOf of)
    : context_(context), width_(width > 0 ? width : context.hidden()) {
  if (context.model.normalization == Normalization::none) return;
  Parameter p;
  p.cols = p.local_cols = width_;
  const bool own_heads = of == NormOf::heads && context.layout.tensor_parallel_size > 1;
  p.partial_gradient = context.layout.sequence_parallel || own_heads;
  p.name = name + ".weight";
  p.init = Init::gain;
  gamma_ = &store.add(p);
  if (context.model.normalization == Normalization::rms_norm) return;
  p.name = name + ".bias";
  p.init = Init::bias;
  beta_ = &store.add(p);
}

Tensor Norm::forward(const Tensor& x, NormSaved& saved, Precision result) const {
  const std::int64_t rows = x.count() / width_;
  Tensor y(context_.arena, rows * width_, result);
  if (gamma_ == nullptr) {
    context_.compute.convert(y.numbers().data, result, x.data(), x.count());
    return y;
  }
  saved.rstd = context_.tensor(rows);
  if (beta_ == nullptr) {
    context_.compute.rms_norm_forward(x.data(), gamma_->weight, y.numbers(), saved.rstd.data(),
                                      rows, width_);
    return y;
  }
  saved.mean = context_.tensor(rows);
  context_.compute.layer_norm_forward(x.data(), gamma_->weight, beta_->weight, y.numbers(),
                                      saved.mean.data(), saved.rstd.data(), rows, width_);
  return y;
}

Tensor Norm::backward(Tensor dy, const Tensor& x, const NormSaved& saved) const {
  if (gamma_ == nullptr) return dy;
  const std::int64_t rows = x.count() / width_;
  Tensor dx = context_.tensor(x.count());
  if (beta_ == nullptr) {
    context_.compute.rms_norm_backward(dy.data(), x.data(), gamma_->weight, saved.rstd.data(),
                                       dx.data(), gamma_->gradient, rows, width_);
    return dx;
  }
  context_.compute.layer_norm_backward(dy.data(), x.data(), gamma_->weight, saved.mean.data(),
                                       saved.rstd.data(), dx.data(), gamma_->gradient,
                                       beta_->gradient, rows, width_);
  return dx;
}

}  // namespace meshwright::calibrate
