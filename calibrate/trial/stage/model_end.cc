// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/stage/model_end.h"

#include <numeric>
#include <utility>

namespace meshwright::calibrate {

ModelEnd::ModelEnd(const TrialContext& context, ParameterStore& store, const Chunk& chunk,
                   Parameter* words)
    : context_(context),
      words_(words),
      losses_(context.tensor(num_micro_batches(context.job.global_batch_size, context.layout))) {
  context.compute.fill_zero(losses_.data(), losses_.size());
  const Model& model = context.model;
  if (model.vocab_size == 0) {
    square_head_.emplace(context);
    return;
  }
  if (has_final_norm(model, chunk)) final_norm_.emplace(context, store, "final_norm");
  if (chunk.mtp && model.mtp_num_layers > 0) {
    if (words_ == nullptr) words_ = &store.add(vocabulary_slice(context, "embedding.words"));
    for (int depth = 1; depth <= model.mtp_num_layers; ++depth) {
      predictions_.emplace_back(context, store, depth, *words_);
    }
  }
  if (!chunk.head) return;
  language_head_.emplace(context, store, words_);
  if (model.tied_embeddings) words_ = &language_head_->words();
}

float ModelEnd::share_of(std::size_t depth) const {
  return depth == 0 ? 1.0F
                    : kMtpLossScalingFactor / static_cast<float>(context_.model.mtp_num_layers);
}

std::vector<Tensor> ModelEnd::cut(const Tensor& all) const {
  std::vector<Tensor> states;
  for (int i = 0; i <= context_.model.mtp_num_layers; ++i) {
    const Tensor& one =
        states.emplace_back(context_.tensor(context_.local_rows() * context_.hidden()));
    context_.compute.copy(one.data(), all.data() + i * one.count(), one.size());
  }
  return states;
}

Tensor ModelEnd::joined(const std::vector<Tensor>& states) const {
  const std::int64_t count = states.front().count();
  Tensor all = context_.tensor(count * static_cast<std::int64_t>(states.size()));
  float* next = all.data();
  for (const Tensor& one : states) {
    context_.compute.copy(next, one.data(), one.size());
    next += count;
  }
  return all;
}

Tensor ModelEnd::forward(Tensor x, const MicroBatch& data, EndSaved& saved) {
  if (square_head_) {
    square_head_->forward(std::move(x), data.target, losses_.data() + num_losses_++,
                          saved.heads.emplace_back());
    return {};
  }
  if (final_norm_) {
    saved.output = std::move(x);
    saved.states.push_back(final_norm_->forward(saved.output, saved.norm));
  } else {
    saved.states = cut(x);
    x.release();
  }
  for (const MultiTokenPrediction& prediction : predictions_) {
    const std::size_t depth = saved.states.size();
    saved.states.push_back(prediction.forward(saved.states.back(), data.ahead(depth),
                                              saved.predictions.emplace_back()));
  }
  if (!language_head_) return joined(saved.states);
  float* loss = losses_.data() + num_losses_++;
  for (std::size_t depth = 0; depth < saved.states.size(); ++depth) {
    language_head_->forward(saved.states[depth], data.ahead(depth + 1), {share_of(depth), loss},
                            saved.heads.emplace_back());
  }
  return {};
}

// All heads first, as a sum's backward takes them.
Tensor ModelEnd::backward(Tensor dy, const MicroBatch& data, float weight, EndSaved& saved) const {
  if (square_head_) return square_head_->backward(weight, saved.heads.front());
  std::vector<Tensor> gradients;
  if (language_head_) {
    for (std::size_t depth = 0; depth < saved.states.size(); ++depth) {
      gradients.push_back(language_head_->backward(saved.states[depth], data.ahead(depth + 1),
                                                   weight * share_of(depth), saved.heads[depth]));
      saved.heads[depth] = {};
    }
  } else {
    gradients = cut(dy);
    dy.release();
  }
  if (!final_norm_) return joined(gradients);
  for (std::size_t depth = predictions_.size(); depth > 0; --depth) {
    const Tensor of_hidden =
        predictions_[depth - 1].backward(std::move(gradients[depth]), saved.states[depth - 1],
                                         data.ahead(depth), saved.predictions[depth - 1]);
    saved.predictions[depth - 1] = {};
    const Tensor& sum = gradients[depth - 1];
    context_.compute.add(sum.data(), of_hidden.data(), sum.data(), sum.count());
  }
  return final_norm_->backward(std::move(gradients[0]), saved.output, saved.norm);
}

double ModelEnd::take_loss() {
  const std::vector<float> losses = downloaded(context_, losses_);
  context_.compute.fill_zero(losses_.data(), losses_.size());
  num_losses_ = 0;
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace meshwright::calibrate
