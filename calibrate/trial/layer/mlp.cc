// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/mlp.h"

namespace meshwright::calibrate {

void activate(const TrialContext& context, const float* x, const float* bias, Numbers y,
              std::int64_t rows, std::int64_t cols) {
  const auto run = [&] {
    switch (context.model.activation) {
      case Activation::relu:
        return &Compute::bias_relu_forward;
      case Activation::gelu:
        return &Compute::bias_gelu_forward;
      case Activation::swiglu:
        return &Compute::bias_swiglu_forward;
      case Activation::xielu:  // refused before (runnable_layout.h)
      case Activation::geglu:
        break;
    }
    return &Compute::bias_geglu_forward;
  }();
  (context.compute.*run)(x, bias, y, rows, cols);
}

void activate_backward(const TrialContext& context, const float* dy, const float* x,
                       const Parameter* bias, Numbers dx, std::int64_t rows, std::int64_t cols) {
  const auto run = [&] {
    switch (context.model.activation) {
      case Activation::relu:
        return &Compute::bias_relu_backward;
      case Activation::gelu:
        return &Compute::bias_gelu_backward;
      case Activation::swiglu:
        return &Compute::bias_swiglu_backward;
      case Activation::xielu:  // refused before (runnable_layout.h)
      case Activation::geglu:
        break;
    }
    return &Compute::bias_geglu_backward;
  }();
  (context.compute.*run)(dy, x, bias == nullptr ? nullptr : bias->weight, dx,
                         bias == nullptr ? nullptr : bias->gradient, rows, cols);
}

Mlp::Mlp(const TrialContext& context, ParameterStore& store, const std::string& name,
         std::int64_t ffn_hidden_size, bool bias, const transfer_names::BlockNames& names)
    : context_(context),
      ffn_(ffn_hidden_size),
      fc1_(context, store, name + ".fc1", mlp_inputs(context.model), ffn_hidden_size, bias,
           input_names(names, context.layout.sequence_parallel)),
      fc2_(context, store, name + ".fc2", ffn_hidden_size, bias,
           output_names(names, context.layout.sequence_parallel)) {}

void Mlp::fc1_forward(const Tensor& x, MlpSaved& saved, Phase phase) const {
  saved.fc1 = fc1_.forward(x, phase);
  saved.activation = context_.operand(context_.rows() * cols());
  activate(context_, saved.fc1.data(), fc1_.bias() == nullptr ? nullptr : fc1_.bias()->weight,
           saved.activation.numbers(), context_.rows(), cols());
}

Tensor Mlp::fc2_forward(const MlpSaved& saved, Phase phase) const {
  return fc2_.forward(saved.activation, phase);
}

void Mlp::fc2_backward(const Tensor& dy, MlpSaved& saved) const {
  saved.dactivation = fc2_.backward(dy, saved.activation);
}

Tensor Mlp::fc1_backward(const Tensor& x, MlpSaved& saved) const {
  const Tensor dfc1 = context_.operand(saved.fc1.count());
  activate_backward(context_, saved.dactivation.data(), saved.fc1.data(), fc1_.bias(),
                    dfc1.numbers(), context_.rows(), cols());
  Tensor dx = fc1_.backward(dfc1, x);
  saved.dactivation.release();
  return dx;
}

Tensor Mlp::forward(const Tensor& x, MlpSaved& saved, Phase phase) const {
  fc1_forward(x, saved, phase);
  return fc2_forward(saved, phase);
}

Tensor Mlp::partial(const Tensor& x) const {
  MlpSaved saved;
  fc1_forward(x, saved, Phase::forward);
  return fc2_.partial(saved.activation);
}

Tensor Mlp::backward(const Tensor& dy, const Tensor& x, MlpSaved& saved) const {
  fc2_backward(dy, saved);
  return fc1_backward(x, saved);
}

}  // namespace meshwright::calibrate
