// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer.h"

#include <fmt/format.h>

#include <utility>

namespace meshwright::calibrate {
namespace {

std::string layer_name(int index, const char* part) {
  return fmt::format("layers.{}.{}", index, part);
}

}  // namespace

Layer::Layer(const TrialContext& context, ParameterStore& store, int index, bool recomputed)
    : context_(context),
      recomputed_(recomputed),
      mlp_norm_(context, store, layer_name(index, "mlp_norm")),
      fc1_(context, store, layer_name(index, "mlp.fc1"), 1, context.model.ffn_hidden_size,
           context.model.add_bias_linear, mlp_input_names(context.layout.sequence_parallel)),
      fc2_(context, store, layer_name(index, "mlp.fc2"), context.model.ffn_hidden_size,
           context.model.add_bias_linear, mlp_output_names(context.layout.sequence_parallel)) {
  if (context.model.num_attention_heads == 0) return;
  attention_norm_.emplace(context, store, layer_name(index, "input_norm"));
  attention_.emplace(context, store, layer_name(index, "attention"));
}

Tensor Layer::forward(Tensor x, LayerSaved& saved) const {
  Tensor y = run_forward(std::move(x), saved, Phase::forward);
  if (recomputed_) {
    LayerSaved input_only;
    input_only.input = std::move(saved.input);
    saved = std::move(input_only);
  }
  return y;
}

Tensor Layer::run_forward(Tensor x, LayerSaved& saved, Phase phase) const {
  saved.input = std::move(x);
  if (!attention_) return mlp_forward(saved.input, saved, phase);
  saved.attention_input = attention_norm_->forward(saved.input, saved.attention_norm);
  saved.middle = attention_->forward(saved.attention_input, saved.attention, phase);
  context_.compute.add(saved.middle.data(), saved.input.data(), saved.middle.data(),
                       saved.middle.count());
  Tensor y = mlp_forward(saved.middle, saved, phase);
  context_.compute.add(y.data(), saved.middle.data(), y.data(), y.count());
  return y;
}

Tensor Layer::mlp_forward(const Tensor& x, LayerSaved& saved, Phase phase) const {
  saved.mlp_input = mlp_norm_.forward(x, saved.mlp_norm);
  saved.fc1 = fc1_.forward(saved.mlp_input, phase);
  saved.activation = context_.tensor(saved.fc1.count());
  activate(saved.fc1.data(), saved.activation.data());
  return fc2_.forward(saved.activation, phase);
}

Tensor Layer::backward(Tensor dy, LayerSaved& saved) const {
  if (recomputed_) {
    const TermScope scope(context_.recorder, TermKind::recompute);
    Tensor input = std::move(saved.input);
    run_forward(std::move(input), saved, Phase::recompute).release();
  }
  if (!attention_) return mlp_backward(dy, saved.input, saved);
  Tensor dmiddle = mlp_backward(dy, saved.middle, saved);
  context_.compute.add(dmiddle.data(), dy.data(), dmiddle.data(), dy.count());
  dy.release();
  Tensor dx = attention_backward(dmiddle, saved);
  context_.compute.add(dx.data(), dmiddle.data(), dx.data(), dx.count());
  return dx;
}

Tensor Layer::mlp_backward(const Tensor& dy, const Tensor& x, LayerSaved& saved) const {
  const Tensor dactivation = fc2_.backward(dy, saved.activation);
  const Tensor dfc1 = context_.tensor(saved.fc1.count());
  activate_backward(dactivation.data(), saved.fc1.data(), dfc1.data());
  return mlp_norm_.backward(fc1_.backward(dfc1, saved.mlp_input), x, saved.mlp_norm);
}

Tensor Layer::attention_backward(const Tensor& dy, LayerSaved& saved) const {
  Tensor dnorm = attention_->backward(dy, saved.attention_input, saved.attention);
  return attention_norm_->backward(std::move(dnorm), saved.input, saved.attention_norm);
}

void Layer::activate(const float* x, float* y) const {
  const float* bias = fc1_.bias() == nullptr ? nullptr : fc1_.bias()->weight;
  const auto run = context_.model.activation == Activation::relu ? &Compute::bias_relu_forward
                                                                 : &Compute::bias_gelu_forward;
  (context_.compute.*run)(x, bias, y, context_.rows(), fc1_.local_cols());
}

void Layer::activate_backward(const float* dy, const float* x, float* dx) const {
  const float* bias = fc1_.bias() == nullptr ? nullptr : fc1_.bias()->weight;
  float* dbias = fc1_.bias() == nullptr ? nullptr : fc1_.bias()->gradient;
  const auto run = context_.model.activation == Activation::relu ? &Compute::bias_relu_backward
                                                                 : &Compute::bias_gelu_backward;
  (context_.compute.*run)(dy, x, bias, dx, dbias, context_.rows(), fc1_.local_cols());
}

}  // namespace meshwright::calibrate
