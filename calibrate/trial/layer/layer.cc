// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/layer.h"

#include <fmt/format.h>

#include <utility>

#include "calibrate/trial/layer/weight_gradient_store.h"

namespace meshwright::calibrate {
namespace {

// Weight gradients that delay_wgrad_compute defers until a layer's token gradients have left.
constexpr WeightGradientStore::Key kDelayedExperts{-1, -1};

std::string layer_name(const std::string& layer, const char* part) {
  return fmt::format("{}.{}", layer, part);
}

}  // namespace

Layer::Layer(const TrialContext& context, ParameterStore& store, int index)
    : Layer(context, store, fmt::format("layers.{}", index), layer_kind(context.model, index)) {}

Layer::Layer(const TrialContext& context, ParameterStore& store, const std::string& name,
             LayerKind kind)
    : context_(context), mlp_norm_(context, store, layer_name(name, "mlp_norm")) {
  const Model& model = context.model;
  if (kind.mixture_of_experts) {
    const int shared = model.moe->moe_shared_expert_intermediate_size;
    experts_.emplace(context, store, layer_name(name, "mlp.experts"));
    if (shared > 0) {
      mlp_.emplace(context, store, layer_name(name, "mlp.shared_expert"), shared, false,
                   transfer_names::kSharedExpert);
    }
  } else {
    mlp_.emplace(context, store, layer_name(name, "mlp"), model.ffn_hidden_size,
                 model.add_bias_linear, transfer_names::kMlp);
  }
  if (model.num_attention_heads == 0) return;
  attention_norm_.emplace(context, store, layer_name(name, "input_norm"));
  const int window = kind.sliding_window ? model.sliding_window : 0;
  if (model.mla) {
    latent_.emplace(context, store, layer_name(name, "attention"), window);
  } else {
    attention_.emplace(context, store, layer_name(name, "attention"), window);
  }
}

void Layer::attend(Tensor x, LayerSaved& saved, LayerForward& pass) const {
  saved.input = std::move(x);
  if (attention_norm_) {
    saved.attention_input =
        attention_norm_->forward(saved.input, saved.attention_norm, context_.operand_format());
    saved.middle = latent_
                       ? latent_->forward(saved.attention_input, saved.latent, pass.phase)
                       : attention_->forward(saved.attention_input, saved.attention, pass.phase);
    context_.compute.add(saved.middle.data(), saved.input.data(), saved.middle.data(),
                         saved.middle.count());
  }
  route(mlp_residual(saved), saved, pass);
}

void Layer::route(const Tensor& x, LayerSaved& saved, LayerForward& pass) const {
  saved.mlp_input = mlp_norm_.forward(x, saved.mlp_norm, mlp_input_format());
  if (!experts_) return;
  experts_->route(saved.mlp_input, saved.experts);
  if (mlp_ && !overlaps_shared_expert()) {
    pass.shared = mlp_->forward(saved.mlp_input, saved.mlp, pass.phase);
  }
}

void Layer::dispatch(LayerSaved& saved, LayerForward& pass) const {
  if (!experts_) return;
  experts_->dispatch(saved.mlp_input, saved.experts, pass.phase);
  if (overlaps_shared_expert()) mlp_->fc1_forward(saved.mlp_input, saved.mlp, pass.phase);
}

void Layer::compute_experts(LayerSaved& saved, LayerForward& pass) const {
  pass.out = experts_ ? experts_->compute(saved.experts)
                      : mlp_->forward(saved.mlp_input, saved.mlp, pass.phase);
}

Tensor Layer::output(LayerSaved& saved, LayerForward& pass) const {
  if (!experts_) return std::move(pass.out);
  Tensor y = experts_->combine(std::move(pass.out), saved.experts, pass.phase);
  if (overlaps_shared_expert()) pass.shared = mlp_->fc2_forward(saved.mlp, pass.phase);
  if (mlp_) context_.compute.add(y.data(), pass.shared.data(), y.data(), y.count());
  pass.shared.release();
  return y;
}

Tensor Layer::combine(LayerSaved& saved, LayerForward& pass) const {
  Tensor y = output(saved, pass);
  if (attention_norm_) {
    context_.compute.add(y.data(), saved.middle.data(), y.data(), y.count());
  }
  drop_recomputed(saved);
  return y;
}

Tensor Layer::forward(Tensor x, LayerSaved& saved, Phase phase) const {
  LayerForward pass{phase, {}, {}};
  attend(std::move(x), saved, pass);
  dispatch(saved, pass);
  compute_experts(saved, pass);
  return combine(saved, pass);
}

KeyValueCache Layer::make_cache(std::int64_t capacity) const {
  return latent_ ? KeyValueCache{} : attention_->make_cache(capacity);
}

Tensor Layer::forward_cached(Tensor x, KeyValueCache& cache) const {
  LayerSaved saved;  // of latent attention and the MLP; given back at the end
  NormSaved norm;
  const Tensor normed = attention_norm_->forward(x, norm, context_.operand_format());
  const Tensor middle = latent_ ? latent_->forward(normed, saved.latent, Phase::forward)
                                : attention_->forward_cached(normed, cache);
  saved.latent = {};
  context_.compute.add(middle.data(), x.data(), middle.data(), middle.count());
  x.release();
  Tensor y = mlp_forward(middle, saved, Phase::forward);
  context_.compute.add(y.data(), middle.data(), y.data(), y.count());
  return y;
}

Tensor Layer::mlp_forward(const Tensor& x, LayerSaved& saved, Phase phase) const {
  LayerForward pass{phase, {}, {}};
  route(x, saved, pass);
  dispatch(saved, pass);
  compute_experts(saved, pass);
  return output(saved, pass);
}

// Core attention and experts' activations are dropped where they are made. A dense layer's norm is
// done in one module with the linear after it, as in Megatron-LM, and run again with the MLP; the
// norms before experts and before latent attention are modules of their own.
void Layer::drop_recomputed(LayerSaved& saved) const {
  if (latent_ && context_.recomputes(kRecomputeLayerNorm)) saved.attention_input.release();
  if (!experts_) {
    if (!context_.recomputes(kRecomputeMlp)) return;
    saved.mlp_input.release();
    saved.mlp = {};
    return;
  }
  if (context_.recomputes(kRecomputeLayerNorm)) saved.mlp_input.release();
  if (context_.recomputes(kRecomputeMoe)) saved.experts = {};
  if (context_.recomputes(kRecomputeMoe | kRecomputeSharedExperts)) saved.mlp = {};
}

// Megatron's checkpoint of a whole MLP runs it to its end, last reduction included.
void Layer::recompute_mlp(const Tensor& x, LayerSaved& saved) const {
  if (!saved.mlp_input.empty()) return;
  const TermScope scope(context_.recorder, TermKind::recompute);
  mlp_forward(x, saved, Phase::recompute).release();
}

void Layer::recompute_experts(const Tensor& x, LayerSaved& saved) const {
  const TermScope scope(context_.recorder, TermKind::recompute);
  if (saved.mlp_input.empty())
    saved.mlp_input = mlp_norm_.forward(x, saved.mlp_norm, mlp_input_format());
  if (saved.experts.tokens.empty()) {
    experts_->forward(saved.mlp_input, saved.experts, Phase::recompute).release();
  }
  if (mlp_ && saved.mlp.fc1.empty()) {
    mlp_->forward(saved.mlp_input, saved.mlp, Phase::recompute).release();
  }
}

void Layer::combine_gradient(Tensor dy, LayerSaved& saved, LayerBackward& pass) const {
  pass.dy = std::move(dy);
  if (!experts_) return recompute_mlp(mlp_residual(saved), saved);
  recompute_experts(mlp_residual(saved), saved);
  experts_->combine_gradient(pass.dy, saved.experts, pass.experts);
  if (overlaps_shared_expert()) mlp_->fc2_backward(pass.dy, saved.mlp);
}

void Layer::experts_backward(LayerSaved& saved, LayerBackward& pass) const {
  if (!experts_) {
    pass.dinput = mlp_->backward(pass.dy, saved.mlp_input, saved.mlp);
    return;
  }
  const bool delays = context_.layout.delay_wgrad_compute && !context_.deferred->is_open();
  if (delays) context_.deferred->open(kDelayedExperts);
  experts_->compute_backward(saved.experts, pass.experts);
  if (delays) context_.deferred->close();
}

void Layer::dispatch_gradient(LayerSaved& saved, LayerBackward& pass) const {
  if (!experts_) return;
  experts_->dispatch_gradient(saved.experts, pass.experts);
  if (context_.deferred->has(kDelayedExperts)) context_.deferred->run(kDelayedExperts, context_);
  if (overlaps_shared_expert()) pass.dinput = mlp_->fc1_backward(saved.mlp_input, saved.mlp);
}

Tensor Layer::mlp_backward(LayerSaved& saved, LayerBackward& pass) const {
  Tensor dx = std::move(pass.dinput);
  if (experts_ && mlp_) {
    if (dx.empty()) dx = mlp_->backward(pass.dy, saved.mlp_input, saved.mlp);
    saved.mlp = {};
  }
  if (experts_) {
    Tensor drouted = experts_->route_backward(saved.mlp_input, saved.experts, pass.experts);
    if (!dx.empty()) context_.compute.add(drouted.data(), dx.data(), drouted.data(), dx.count());
    dx = std::move(drouted);
  }
  return mlp_norm_.backward(std::move(dx), mlp_residual(saved), saved.mlp_norm);
}

Tensor Layer::attend_backward(LayerSaved& saved, LayerBackward& pass) const {
  Tensor dmiddle = mlp_backward(saved, pass);
  if (!attention_norm_) return dmiddle;
  context_.compute.add(dmiddle.data(), pass.dy.data(), dmiddle.data(), dmiddle.count());
  pass.dy.release();
  Tensor dx = attention_backward(dmiddle, saved);
  context_.compute.add(dx.data(), dmiddle.data(), dx.data(), dx.count());
  return dx;
}

Tensor Layer::backward(Tensor dy, LayerSaved& saved) const {
  LayerBackward pass;
  combine_gradient(std::move(dy), saved, pass);
  experts_backward(saved, pass);
  dispatch_gradient(saved, pass);
  return attend_backward(saved, pass);
}

Tensor Layer::attention_backward(const Tensor& dy, LayerSaved& saved) const {
  if (saved.attention_input.empty()) {
    const TermScope scope(context_.recorder, TermKind::recompute);
    saved.attention_input =
        attention_norm_->forward(saved.input, saved.attention_norm, context_.operand_format());
  }
  Tensor dnorm = latent_ ? latent_->backward(dy, saved.attention_input, saved.latent)
                         : attention_->backward(dy, saved.attention_input, saved.attention);
  return attention_norm_->backward(std::move(dnorm), saved.input, saved.attention_norm);
}

// Tensors by the names of sim/operators' offload_module.
std::vector<Tensor*> Layer::offloaded_parts(LayerSaved& saved, bool whole) const {
  constexpr unsigned kNone = 0;
  AttentionSaved& attention = saved.attention;
  MultiLatentSaved& latent = saved.latent;
  const std::pair<Tensor*, unsigned> kept[] = {
      {&saved.input, latent_ ? unsigned{kOffloadAttentionNorm} : kNone},
      {&saved.attention_input, kOffloadQkvLinear},
      {&attention.norms.queries, kNone},
      {&attention.norms.keys, kNone},
      {&attention.heads, kOffloadCoreAttention},
      {&attention.core.heads, kOffloadCoreAttention},
      {&attention.core.probabilities, kNone},
      {&attention.merged, kOffloadAttentionProjection},
      {&latent.query_latent, kNone},
      {&latent.query_normed, kNone},
      {&latent.query, kOffloadCoreAttention},
      {&latent.key_value_latent, kNone},
      {&latent.key_value_normed, kNone},
      {&latent.heads, kOffloadCoreAttention},
      {&latent.core.heads, kOffloadCoreAttention},
      {&latent.core.probabilities, kNone},
      {&latent.merged, kOffloadAttentionProjection},
      {&saved.middle, experts_ ? unsigned{kOffloadMlpNorm} : kNone},
      {&saved.mlp_input, kNone},
      {&saved.mlp.fc1, kNone},
      {&saved.mlp.activation, kNone},
      {&saved.experts.logits, kNone},
      {&saved.experts.tokens, kOffloadExpertFc1},
      {&saved.experts.fc1, kOffloadMoeActivation},
      {&saved.experts.clamped, kNone},
      {&saved.experts.activation, kNone}};
  std::vector<Tensor*> parts;
  for (const auto& [tensor, module] : kept) {
    if (whole || context_.layout.offload_modules.has(module)) parts.push_back(tensor);
  }
  return parts;
}

void Layer::offload(LayerSaved& saved, bool whole) const {
  const std::vector<Tensor*> parts = offloaded_parts(saved, whole);
  if (!parts.empty()) saved.on_host = context_.host->put(parts);
}

void Layer::bring_back(LayerSaved& saved, bool whole) const {
  if (saved.on_host.empty()) return;
  context_.host->bring_back(offloaded_parts(saved, whole), saved.on_host);
}

}  // namespace meshwright::calibrate
