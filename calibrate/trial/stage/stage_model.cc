// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/stage/stage_model.h"

#include <algorithm>
#include <utility>

#include "calibrate/trial/states/sharded_states.h"
#include "calibrate/trial/states/whole_states.h"
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

void StageModel::use_layer(std::size_t layer, Phase phase) const {
  if (unit_of(layer) != kRootUnit) use(unit_of(layer), phase);
}

void StageModel::release_layer(std::size_t layer, Phase phase) const {
  if (unit_of(layer) != kRootUnit) release(unit_of(layer), phase);
}

void StageModel::reduce_layer(std::size_t layer) const {
  if (unit_of(layer) != kRootUnit) reduce_gradients(unit_of(layer));
}

StageModel::RecomputeUnit StageModel::recompute_unit(std::size_t layer) const {
  if (layer >= recomputed_layers_) return {layer, layer + 1};
  const Layout& layout = context_.layout;
  const bool uniform = layout.recompute_method == RecomputeMethod::uniform;
  const auto size =
      static_cast<std::size_t>(uniform ? std::max(1, layout.recompute_num_layers) : 1);
  const std::size_t first = layer / size * size;
  return {first, std::min(first + size, recomputed_layers_)};
}

void StageModel::keep_for_backward(std::size_t layer, LayerSaved& saved) const {
  if (layer >= recomputed_layers_) {
    return layers_[layer].offload(saved, layer < offloaded_layers_);
  }
  LayerSaved kept;
  if (layer == recompute_unit(layer).first) kept.input = std::move(saved.input);
  saved = std::move(kept);
}

void StageModel::recompute(RecomputeUnit unit, Saved& saved) const {
  const TermScope scope(context_.recorder, TermKind::recompute);
  Tensor x = std::move(saved.layers[unit.first].input);
  for (std::size_t i = unit.first; i < unit.end; ++i) {
    x = layers_[i].forward(std::move(x), saved.layers[i], Phase::recompute);
    round_between_layers(context_, x);
  }
}

void StageModel::begin_backward(std::size_t layer, Saved& saved) const {
  const RecomputeUnit unit = recompute_unit(layer);
  if (layer + 1 == unit.end) {
    for (std::size_t i = unit.first; i < unit.end; ++i) use_layer(i, Phase::backward);
    if (layer < recomputed_layers_) recompute(unit, saved);
  }
  if (unit_of(layer) != kRootUnit) open_gradients(unit_of(layer));
}

// Copies a layer back from the host. If whole layers are offloaded, the next one comes while this
// one computes (Transformer Engine's AsyncDoubleBufferGroupOffloadHandler).
void StageModel::bring_back(std::size_t layer, LayerSaved& of_layer, Saved& saved) const {
  layers_[layer].bring_back(of_layer, layer < offloaded_layers_);
  if (layer == 0 || layer > offloaded_layers_) return;
  layers_[layer - 1].bring_back(saved.layers[layer - 1], true);
}

StageModel::Saved StageModel::take_saved(int micro_batch) {
  const auto found = in_flight_.find(micro_batch);
  invariant(found != in_flight_.end(), "a backward pass comes after its forward pass");
  Saved saved = std::move(found->second);
  in_flight_.erase(found);
  return saved;
}

void StageModel::reduce_all_gradients() const {
  for (std::size_t i = layers_.size(); i-- > 0;) reduce_gradients(unit_of(i));
}

double StageModel::take_loss() { return end_ ? end_->take_loss() : 0.0; }

}  // namespace meshwright::calibrate
