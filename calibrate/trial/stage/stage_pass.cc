// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/stage/stage_pass.h"

#include <utility>

#include "calibrate/trial/states/sharded_states.h"

namespace meshwright::calibrate {

ForwardPass::ForwardPass(StageModel& model, const Instruction& instruction, const MicroBatch& data,
                         Tensor x)
    : model_(model),
      instruction_(instruction),
      data_(data),
      saved_(model.in_flight_[instruction.micro_batch]),
      x_(std::move(x)) {
  saved_.layers.resize(model.layers_.size());
}

TermScope ForwardPass::work() const {
  model_.context_.recorder.work_on(instruction_.micro_batch, instruction_.chunk);
  return {model_.context_.recorder, TermKind::forward_compute};
}

void ForwardPass::begin() {
  const TermScope scope = work();
  model_.use(kRootUnit, Phase::forward);
  if (!model_.chunk_.embedding) return;
  x_ = model_.first_input(data_);
  round_between_layers(model_.context_, x_);
}

void ForwardPass::attend() {
  const TermScope scope = work();
  model_.use_layer(layer_, Phase::forward);
  model_.layers_[layer_].attend(std::move(x_), saved(), in_layer_);
}

void ForwardPass::dispatch() {
  const TermScope scope = work();
  model_.layers_[layer_].dispatch(saved(), in_layer_);
}

void ForwardPass::compute_experts() {
  const TermScope scope = work();
  model_.layers_[layer_].compute_experts(saved(), in_layer_);
}

void ForwardPass::combine() {
  const TermScope scope = work();
  x_ = model_.layers_[layer_].combine(saved(), in_layer_);
  round_between_layers(model_.context_, x_);
  model_.release_layer(layer_, Phase::forward);
  model_.keep_for_backward(layer_, saved());
  ++layer_;
}

Tensor ForwardPass::end() {
  const TermScope scope = work();
  if (model_.end_) x_ = model_.end_->forward(std::move(x_), data_, saved_.end);
  model_.release(kRootUnit, Phase::forward);
  return std::move(x_);
}

BackwardPass::BackwardPass(StageModel& model, const Instruction& instruction,
                           const MicroBatch& data, Tensor dy)
    : model_(model),
      instruction_(instruction),
      data_(data),
      saved_(model.take_saved(instruction.micro_batch)),
      dy_(std::move(dy)),
      layers_left_(model.layers_.size()) {}

TermScope BackwardPass::work() const {
  model_.context_.recorder.work_on(instruction_.micro_batch, instruction_.chunk);
  return {model_.context_.recorder, TermKind::backward_compute};
}

void BackwardPass::begin() {
  const TermScope scope = work();
  model_.use(kRootUnit, Phase::backward);
  model_.open_gradients(kRootUnit);
  if (!model_.end_) return;
  dy_ = model_.end_->backward(std::move(dy_), data_, model_.loss_weight_, saved_.end);
  round_between_layers(model_.context_, dy_);
  saved_.end = {};
}

void BackwardPass::combine_gradient() {
  const TermScope scope = work();
  model_.begin_backward(layer(), saved_);
  of_layer_ = std::move(saved_.layers[layer()]);  // given back after the layer
  model_.bring_back(layer(), of_layer_, saved_);
  model_.layers_[layer()].combine_gradient(std::move(dy_), of_layer_, in_layer_);
}

void BackwardPass::experts_backward() {
  const TermScope scope = work();
  model_.layers_[layer()].experts_backward(of_layer_, in_layer_);
}

void BackwardPass::dispatch_gradient() {
  const TermScope scope = work();
  model_.layers_[layer()].dispatch_gradient(of_layer_, in_layer_);
}

void BackwardPass::attend_backward() {
  const TermScope scope = work();
  dy_ = model_.layers_[layer()].attend_backward(of_layer_, in_layer_);
  round_between_layers(model_.context_, dy_);
  of_layer_ = {};
  in_layer_ = {};
  model_.reduce_layer(layer());
  --layers_left_;
}

Tensor BackwardPass::end() {
  const TermScope scope = work();
  if (model_.embedding_) model_.embedding_->backward(dy_, data_.input);
  model_.reduce_gradients(kRootUnit);
  if (model_.chunk_.embedding) return {};
  return std::move(dy_);
}

namespace {

void run_layer(ForwardPass& pass) {
  pass.attend();
  pass.dispatch();
  pass.compute_experts();
  pass.combine();
}

void run_layer(BackwardPass& pass) {
  pass.combine_gradient();
  pass.experts_backward();
  pass.dispatch_gradient();
  pass.attend_backward();
}

template <typename Pass>
Tensor run_to_end(Pass& pass) {
  while (pass.has_layer()) run_layer(pass);
  return pass.end();
}

}  // namespace

Tensor run(ForwardPass pass) {
  pass.begin();
  return run_to_end(pass);
}

Tensor run(BackwardPass pass) {
  pass.begin();
  return run_to_end(pass);
}

PairResult run_together(ForwardPass forward, BackwardPass backward) {
  forward.begin();
  backward.begin();
  while (forward.has_layer() && backward.has_layer()) {
    backward.combine_gradient();
    forward.attend();
    forward.dispatch();
    backward.experts_backward();
    backward.dispatch_gradient();
    forward.compute_experts();
    forward.combine();
    backward.attend_backward();
  }
  Tensor y = run_to_end(forward);
  return {std::move(y), run_to_end(backward)};
}

}  // namespace meshwright::calibrate
