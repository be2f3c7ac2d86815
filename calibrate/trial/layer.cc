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

Layer::Layer(const TrialContext& context, ParameterStore& store, int index)
    : context_(context),
      mlp_norm_(context, store, layer_name(index, "mlp_norm")),
      fc1_(context, store, layer_name(index, "mlp.fc1"), is_gated(context.model.activation) ? 2 : 1,
           context.model.ffn_hidden_size, context.model.add_bias_linear,
           input_names(transfer_names::kMlp, context.layout.sequence_parallel)),
      fc2_(context, store, layer_name(index, "mlp.fc2"), context.model.ffn_hidden_size,
           context.model.add_bias_linear,
           output_names(transfer_names::kMlp, context.layout.sequence_parallel)) {
  if (context.model.num_attention_heads == 0) return;
  attention_norm_.emplace(context, store, layer_name(index, "input_norm"));
  attention_.emplace(context, store, layer_name(index, "attention"));
}

Tensor Layer::forward(Tensor x, LayerSaved& saved, Phase phase) const {
  saved.input = std::move(x);
  Tensor y;
  if (attention_) {
    saved.attention_input = attention_norm_->forward(saved.input, saved.attention_norm);
    saved.middle = attention_->forward(saved.attention_input, saved.attention, phase);
    context_.compute.add(saved.middle.data(), saved.input.data(), saved.middle.data(),
                         saved.middle.count());
    y = mlp_forward(saved.middle, saved, phase);
    context_.compute.add(y.data(), saved.middle.data(), y.data(), y.count());
  } else {
    y = mlp_forward(saved.input, saved, phase);
  }
  drop_recomputed(saved);
  return y;
}

KeyValueCache Layer::make_cache(std::int64_t capacity) const {
  return attention_->make_cache(capacity);
}

Tensor Layer::forward_cached(Tensor x, KeyValueCache& cache) const {
  LayerSaved saved;  // of the MLP; given back at the end
  NormSaved norm;
  const Tensor normed = attention_norm_->forward(x, norm);
  const Tensor middle = attention_->forward_cached(normed, cache);
  context_.compute.add(middle.data(), x.data(), middle.data(), middle.count());
  x.release();
  Tensor y = mlp_forward(middle, saved, Phase::forward);
  context_.compute.add(y.data(), middle.data(), y.data(), y.count());
  return y;
}

Tensor Layer::mlp_forward(const Tensor& x, LayerSaved& saved, Phase phase) const {
  saved.mlp_input = mlp_norm_.forward(x, saved.mlp_norm);
  saved.fc1 = fc1_.forward(saved.mlp_input, phase);
  saved.activation = context_.tensor(context_.rows() * activation_cols());
  activate(saved.fc1.data(), saved.activation.data());
  return fc2_.forward(saved.activation, phase);
}

// Core attention drops its own (attention.cc). Norms are done in one module with the linear after
// them, as in Megatron-LM's dense layers: run again with the MLP, and not by themselves.
void Layer::drop_recomputed(LayerSaved& saved) const {
  if (!context_.recomputes(kRecomputeMlp)) return;
  saved.mlp_input.release();
  saved.fc1.release();
  saved.activation.release();
}

// Megatron's checkpoint of a whole MLP runs it to its end, last reduction included.
void Layer::recompute_mlp(const Tensor& x, LayerSaved& saved) const {
  if (!saved.mlp_input.empty()) return;
  const TermScope scope(context_.recorder, TermKind::recompute);
  mlp_forward(x, saved, Phase::recompute).release();
}

Tensor Layer::backward(Tensor dy, LayerSaved& saved) const {
  if (!attention_) return mlp_backward(dy, saved.input, saved);
  Tensor dmiddle = mlp_backward(dy, saved.middle, saved);
  context_.compute.add(dmiddle.data(), dy.data(), dmiddle.data(), dy.count());
  dy.release();
  Tensor dx = attention_backward(dmiddle, saved);
  context_.compute.add(dx.data(), dmiddle.data(), dx.data(), dx.count());
  return dx;
}

Tensor Layer::mlp_backward(const Tensor& dy, const Tensor& x, LayerSaved& saved) const {
  recompute_mlp(x, saved);
  const Tensor dactivation = fc2_.backward(dy, saved.activation);
  const Tensor dfc1 = context_.tensor(saved.fc1.count());
  activate_backward(dactivation.data(), saved.fc1.data(), dfc1.data());
  return mlp_norm_.backward(fc1_.backward(dfc1, saved.mlp_input), x, saved.mlp_norm);
}

Tensor Layer::attention_backward(const Tensor& dy, LayerSaved& saved) const {
  Tensor dnorm = attention_->backward(dy, saved.attention_input, saved.attention);
  return attention_norm_->backward(std::move(dnorm), saved.input, saved.attention_norm);
}

std::int64_t Layer::activation_cols() const {
  return context_.model.ffn_hidden_size / context_.layout.tensor_parallel_size;
}

void Layer::activate(const float* x, float* y) const {
  const float* bias = fc1_.bias() == nullptr ? nullptr : fc1_.bias()->weight;
  const auto run = [&] {
    switch (context_.model.activation) {
      case Activation::relu:
        return &Compute::bias_relu_forward;
      case Activation::gelu:
        return &Compute::bias_gelu_forward;
      case Activation::swiglu:
        return &Compute::bias_swiglu_forward;
      case Activation::geglu:
        break;
    }
    return &Compute::bias_geglu_forward;
  }();
  (context_.compute.*run)(x, bias, y, context_.rows(), activation_cols());
}

void Layer::activate_backward(const float* dy, const float* x, float* dx) const {
  const float* bias = fc1_.bias() == nullptr ? nullptr : fc1_.bias()->weight;
  float* dbias = fc1_.bias() == nullptr ? nullptr : fc1_.bias()->gradient;
  const auto run = [&] {
    switch (context_.model.activation) {
      case Activation::relu:
        return &Compute::bias_relu_backward;
      case Activation::gelu:
        return &Compute::bias_gelu_backward;
      case Activation::swiglu:
        return &Compute::bias_swiglu_backward;
      case Activation::geglu:
        break;
    }
    return &Compute::bias_geglu_backward;
  }();
  (context_.compute.*run)(dy, x, bias, dx, dbias, context_.rows(), activation_cols());
}

}  // namespace meshwright::calibrate
