// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/stage_model.h"

#include <algorithm>
#include <utility>

#include "calibrate/trial/sharded_states.h"
#include "calibrate/trial/whole_states.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {

StageModel::StageModel(const TrialContext& context, ParameterStore& store, const Chunk& chunk,
                       int recomputed_layers, int offloaded_layers, Parameter* words)
    : context_(context),
      chunk_(chunk),
      recomputed_layers_(static_cast<std::size_t>(recomputed_layers)),
      offloaded_layers_(static_cast<std::size_t>(offloaded_layers)) {
  const Layout& layout = context.layout;
  loss_weight_ = static_cast<float>(layout.micro_batch_size) /
                 static_cast<float>(context.job.global_batch_size) /
                 static_cast<float>(layout.context_parallel_size);
  store.begin_unit(kRootUnit, calls_of_unit(context.model, layout, kRootUnit));
  if (chunk.embedding && context.model.vocab_size > 0) embedding_.emplace(context, store);
  layers_.reserve(static_cast<std::size_t>(chunk.num_layers));
  for (int i = 0; i < chunk.num_layers; ++i) {
    const int unit = unit_of_layer(layout, chunk.first_layer + i);
    store.begin_unit(unit, calls_of_unit(context.model, layout, unit));
    layers_.emplace_back(context, store, chunk.first_layer + i);
  }
  store.begin_unit(kRootUnit, calls_of_unit(context.model, layout, kRootUnit));
  if (!ModelEnd::is_in(context.model, chunk)) return;
  end_.emplace(context, store, chunk, embedding_ ? &embedding_->words() : words);
}

Parameter* StageModel::words() const {
  if (embedding_) return &embedding_->words();
  return end_ ? end_->words() : nullptr;
}

void StageModel::use(int unit, Phase phase) const {
  if (context_.states != nullptr) return context_.states->use(unit, phase);
  if (context_.whole_states != nullptr) context_.whole_states->use(unit);
}

void StageModel::release(int unit, Phase phase) const {
  if (context_.states != nullptr) context_.states->release(unit, phase);
}

void StageModel::open_gradients(int unit) const {
  if (context_.states != nullptr) context_.states->open_gradients(unit);
}

void StageModel::reduce_gradients(int unit) const {
  if (context_.states == nullptr) return context_.whole_states->reduce_gradients(unit);
  context_.states->reduce_gradients(unit);
  context_.states->release(unit, Phase::backward);
}

int StageModel::unit_of(std::size_t layer) const {
  return unit_of_layer(context_.layout, chunk_.first_layer + static_cast<int>(layer));
}

Tensor StageModel::first_input(const MicroBatch& data) const {
  if (embedding_) return embedding_->forward(data.input);
  Tensor x = context_.tensor(context_.local_rows() * context_.hidden());
  const std::int64_t skipped =
      context_.layout.sequence_parallel ? x.count() * context_.groups.at.tensor : 0;
  context_.compute.copy(x.data(), data.input.data() + skipped, x.size());
  return x;
}

std::size_t StageModel::end_of_unit(std::size_t first) const {
  const bool uniform = context_.layout.recompute_method == RecomputeMethod::uniform;
  const int size = uniform ? std::max(1, context_.layout.recompute_num_layers) : 1;
  if (first >= recomputed_layers_) return first + 1;
  return std::min(first + static_cast<std::size_t>(size), recomputed_layers_);
}

Tensor StageModel::layers_forward(Tensor x, Saved& saved) const {
  for (std::size_t first = 0; first < layers_.size();) {
    const std::size_t end = end_of_unit(first);
    for (std::size_t i = first; i < end; ++i) {
      use(unit_of(i), Phase::forward);
      x = layers_[i].forward(std::move(x), saved.layers[i], Phase::forward);
      round_between_layers(context_, x);
      if (unit_of(i) != kRootUnit) release(unit_of(i), Phase::forward);
      if (i >= recomputed_layers_) {
        layers_[i].offload(saved.layers[i], i < offloaded_layers_);
        continue;
      }
      LayerSaved kept;
      if (i == first) kept.input = std::move(saved.layers[i].input);
      saved.layers[i] = std::move(kept);
    }
    first = end;
  }
  return x;
}

void StageModel::recompute_unit(std::size_t first, std::size_t end, Saved& saved) const {
  const TermScope scope(context_.recorder, TermKind::recompute);
  Tensor x = std::move(saved.layers[first].input);
  for (std::size_t i = first; i < end; ++i) {
    x = layers_[i].forward(std::move(x), saved.layers[i], Phase::recompute);
    round_between_layers(context_, x);
  }
}

Tensor StageModel::layers_backward(Tensor dy, Saved& saved) const {
  std::vector<std::size_t> units;
  for (std::size_t first = 0; first < layers_.size(); first = end_of_unit(first)) {
    units.push_back(first);
  }
  for (; !units.empty(); units.pop_back()) {
    const std::size_t first = units.back(), end = end_of_unit(first);
    for (std::size_t i = first; i < end; ++i) use(unit_of(i), Phase::backward);
    if (first < recomputed_layers_) recompute_unit(first, end, saved);
    for (std::size_t i = end; i-- > first;) {
      LayerSaved of_layer = std::move(saved.layers[i]);  // given back after the layer
      layers_[i].bring_back(of_layer, i < offloaded_layers_);
      // Of whole layers the next one comes while this one is worked on (Transformer Engine's
      // AsyncDoubleBufferGroupOffloadHandler).
      if (i > 0 && i <= offloaded_layers_) layers_[i - 1].bring_back(saved.layers[i - 1], true);
      if (unit_of(i) != kRootUnit) open_gradients(unit_of(i));
      dy = layers_[i].backward(std::move(dy), of_layer);
      round_between_layers(context_, dy);
      of_layer = {};
      if (unit_of(i) != kRootUnit) reduce_gradients(unit_of(i));
    }
  }
  return dy;
}

Tensor StageModel::forward(int micro_batch, const MicroBatch& data, Tensor x) {
  const TermScope scope(context_.recorder, TermKind::forward_compute);
  Saved& saved = in_flight_[micro_batch];
  saved.layers.resize(layers_.size());
  use(kRootUnit, Phase::forward);
  if (chunk_.embedding) {
    x = first_input(data);
    round_between_layers(context_, x);
  }
  x = layers_forward(std::move(x), saved);
  if (end_) x = end_->forward(std::move(x), data, saved.end);
  release(kRootUnit, Phase::forward);
  return x;
}

Tensor StageModel::backward(int micro_batch, const MicroBatch& data, Tensor dy) {
  const TermScope scope(context_.recorder, TermKind::backward_compute);
  const auto found = in_flight_.find(micro_batch);
  invariant(found != in_flight_.end(), "a backward pass comes after its forward pass");
  Saved saved = std::move(found->second);
  in_flight_.erase(found);
  use(kRootUnit, Phase::backward);
  open_gradients(kRootUnit);
  if (end_) {
    dy = end_->backward(std::move(dy), data, loss_weight_, saved.end);
    round_between_layers(context_, dy);
    saved.end = {};
  }
  dy = layers_backward(std::move(dy), saved);
  if (embedding_) embedding_->backward(dy, data.input);
  reduce_gradients(kRootUnit);
  if (chunk_.embedding) return {};
  return dy;
}

void StageModel::reduce_all_gradients() const {
  for (std::size_t i = layers_.size(); i-- > 0;) reduce_gradients(unit_of(i));
}

double StageModel::take_loss() { return end_ ? end_->take_loss() : 0.0; }

}  // namespace meshwright::calibrate
