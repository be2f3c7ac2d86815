// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/serving_layer.h"

#include <fmt/format.h>

#include <utility>

namespace meshwright::calibrate {
namespace {

std::string layer_part(int index, const char* part) {
  return fmt::format("layers.{}.{}", index, part);
}

std::int64_t window_of(const Model& model, int index) {
  return layer_kind(model, index).sliding_window ? model.sliding_window : 0;
}

}  // namespace

// Parameters have the names of layer.cc, and so its weights.
ServingLayer::ServingLayer(const TrialContext& context, ParameterStore& store, int index,
                           int cached)
    : context_(context),
      cached_(static_cast<std::size_t>(cached)),
      mlp_norm_(context, store, layer_part(index, "mlp_norm")),
      attention_norm_(context, store, layer_part(index, "input_norm")) {
  const Model& model = context.model;
  const std::int64_t window = window_of(model, index);
  if (model.mla) {
    latent_.emplace(context, store, layer_part(index, "attention"), window);
  } else {
    attention_.emplace(context, store, layer_part(index, "attention"), window);
  }
  if (!layer_kind(model, index).mixture_of_experts) {
    mlp_.emplace(context, store, layer_part(index, "mlp"), model.ffn_hidden_size,
                 model.add_bias_linear, transfer_names::kMlp);
    return;
  }
  experts_.emplace(context, store, layer_part(index, "mlp.experts"));
  const int shared = model.moe->moe_shared_expert_intermediate_size;
  if (shared == 0) return;
  mlp_.emplace(context, store, layer_part(index, "mlp.shared_expert"), shared, false,
               transfer_names::kSharedExpert);
}

Tensor ServingLayer::mlp_forward(const Tensor& x) const {
  if (experts_) return experts_->forward_replicated(x, mlp_ ? mlp_->partial(x) : Tensor{});
  MlpSaved saved;  // given back at the end
  return mlp_->forward(x, saved, Phase::forward);
}

Tensor ServingLayer::forward(Tensor x, const std::vector<SequenceRows>& sequences,
                             const PagedCache& cache) const {
  NormSaved norm;
  Tensor normed = attention_norm_.forward(x, norm);
  const Tensor middle = latent_ ? latent_->forward(normed, sequences, cache, cached_)
                                : attention_->forward(normed, sequences, cache, cached_);
  context_.compute.add(middle.data(), x.data(), middle.data(), middle.count());
  x.release();
  NormSaved second;
  normed = mlp_norm_.forward(middle, second);
  Tensor y = mlp_forward(normed);
  context_.compute.add(y.data(), middle.data(), y.data(), y.count());
  return y;
}

}  // namespace meshwright::calibrate
