// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/trial_step.h"

#include <utility>

namespace meshwright::calibrate {
namespace {

// One stage alone works each micro-batch forward and backward, as Megatron without a pipeline.
StageProgram stage_program(const Layout& layout, int micro_batches, int stage) {
  if (layout.pipeline_parallel_size > 1) {
    return pipeline_programs(layout.schedule, layout.pipeline_parallel_size, micro_batches,
                             1)[static_cast<std::size_t>(stage)];
  }
  StageProgram program;
  for (int i = 0; i < micro_batches; ++i) {
    program.push_back({.work = Work::forward, .micro_batch = i});
    program.push_back({.work = Work::backward, .micro_batch = i});
  }
  return program;
}

}  // namespace

TrialStep::TrialStep(const Model& model, const Job& job, const Layout& layout, Compute& compute,
                     Communicator& ranks, float learning_rate, std::uint64_t seed)
    : model_(model),
      job_(job),
      layout_(layout),
      compute_(compute),
      arena_(compute),
      recorder_(compute),
      groups_(layout_, ranks, recorder_),
      context_{model_, job_, layout_, compute_, arena_, recorder_, groups_},
      learning_rate_(learning_rate) {
  const auto stage = static_cast<std::size_t>(groups_.at.pipeline);
  stage_.emplace(context_, store_, pipeline_stages(model_, layout_)[stage].chunks.front());
  store_.allocate(arena_, compute_, layout_.zero_stage == 1 ? layout_.data_parallel_size : 1, seed);
  const int micro_batches = num_micro_batches(job_.global_batch_size, layout_);
  batches_ = make_micro_batches(context_, micro_batches, seed);
  program_ = stage_program(layout_, micro_batches, groups_.at.pipeline);
  measure_neighbours();
}

// Pairs 0-1, 2-3, ... first, then 1-2, 3-4, ...
void TrialStep::measure_neighbours() {
  const int stage = groups_.at.pipeline;
  const Tensor buffer = context_.tensor(border_count());
  compute_.fill_zero(buffer.data(), buffer.size());
  compute_.synchronize();
  for (const int parity : {0, 1}) {
    if (stage % 2 == parity && !last_stage()) {
      next_transfer_ = groups_.pipeline.measure_transfer(buffer.data(), buffer.count(), stage + 1);
    } else if (stage % 2 != parity && !first_stage()) {
      previous_transfer_ =
          groups_.pipeline.measure_transfer(buffer.data(), buffer.count(), stage - 1);
    }
  }
}

void TrialStep::run() {
  recorder_.begin_step();
  {
    const TermScope scope(recorder_, TermKind::optimizer);
    compute_.fill_zero(store_.gradients(), static_cast<std::size_t>(store_.count()) * 4);
  }
  for (const Instruction& instruction : program_) {
    if (instruction.work == Work::forward) {
      forward(instruction.micro_batch);
    } else {
      backward(instruction.micro_batch);
    }
  }
  finish_sends();
  reduce_loss();
  reduce_shared_gradients();
  reduce_gradients_and_update();
  recorder_.end_step();
}

// A message is posted and the stage goes on; before it computes again the message must be through.
// So a stage that sends and then receives does both at once, and no stage computes while a
// neighbour waits for a transfer that needs this rank's help.
void TrialStep::forward(int micro_batch) {
  const auto& data = batches_[static_cast<std::size_t>(micro_batch)];
  Tensor x;
  if (!first_stage()) x = receive(groups_.at.pipeline - 1, previous_transfer_);
  finish_sends();
  Tensor y = stage_->forward(micro_batch, data, std::move(x));
  if (!last_stage()) {
    send("activation send", Phase::forward, std::move(y), groups_.at.pipeline + 1);
  }
}

void TrialStep::backward(int micro_batch) {
  const auto& data = batches_[static_cast<std::size_t>(micro_batch)];
  Tensor dy;
  if (!last_stage()) dy = receive(groups_.at.pipeline + 1, next_transfer_);
  finish_sends();
  Tensor dx = stage_->backward(micro_batch, data, std::move(dy));
  if (!first_stage()) {
    send("activation gradient send", Phase::backward, std::move(dx), groups_.at.pipeline - 1);
  }
}

Tensor TrialStep::receive(int from, double transfer_seconds) {
  Tensor arrived = context_.tensor(border_count());
  groups_.pipeline.receive(arrived.data(), arrived.count(), from, transfer_seconds);
  return arrived;
}

void TrialStep::send(const char* name, Phase phase, Tensor activation, int to) {
  compute_.synchronize();
  groups_.pipeline.send(name, phase, activation.data(), activation.count(), to);
  sent_.push_back(std::move(activation));
}

void TrialStep::finish_sends() {
  if (sent_.empty()) return;
  groups_.pipeline.wait_sends();
  sent_.clear();
}

void TrialStep::reduce_loss() {
  if (!last_stage()) return;
  const auto count = static_cast<float>(batches_.size());
  float sums[2] = {static_cast<float>(stage_->take_loss()), count};
  if (groups_.data.size() > 1) {
    const Tensor device = context_.tensor(2);
    compute_.upload(device.data(), sums, sizeof sums);
    groups_.data.all_reduce("loss and token count all-reduce", Phase::step, device.data(), 2);
    compute_.download(sums, device.data(), sizeof sums);
    compute_.synchronize();
  }
  loss_ = static_cast<double>(sums[0]) / static_cast<double>(sums[1]);
}

void TrialStep::reduce_shared_gradients() {
  if (store_.partial_count() > 0) {
    groups_.tensor.all_reduce("replicated parameter gradient all-reduce", Phase::step,
                              store_.gradients() + store_.partial_begin(), store_.partial_count());
  }
  if (const Parameter* words = stage_->shared_words()) {
    groups_.embedding.all_reduce("shared embedding gradient all-reduce", Phase::step,
                                 words->gradient, words->count());
  }
}

void TrialStep::reduce_gradients_and_update() {
  const AdamStep adam{.learning_rate = learning_rate_, .step = ++steps_done_};
  if (layout_.zero_stage == 1 && groups_.data.size() > 1) return update_shard(adam);
  groups_.data.all_reduce("gradient all-reduce", Phase::step, store_.gradients(), store_.count());
  const TermScope scope(recorder_, TermKind::optimizer);
  compute_.adam(store_.weights(), store_.gradients(), store_.exp_avg(), store_.exp_avg_sq(),
                store_.count(), adam);
}

// ZeRO-1: each data rank sums, updates and hands out its part of the arrays (arXiv
// 1910.02054, 5.1).
void TrialStep::update_shard(const AdamStep& adam) {
  const std::int64_t share = store_.count() / groups_.data.size();
  const Tensor gradient = context_.tensor(share);
  groups_.data.reduce_scatter("gradient reduce-scatter", Phase::step, store_.gradients(),
                              gradient.data(), share);
  const Tensor weight = context_.tensor(share);
  {
    const TermScope scope(recorder_, TermKind::optimizer);
    compute_.copy(weight.data(), store_.weights() + share * groups_.data.rank(), weight.size());
    compute_.adam(weight.data(), gradient.data(), store_.exp_avg(), store_.exp_avg_sq(), share,
                  adam);
  }
  groups_.data.all_gather("updated weight all-gather", Phase::step, weight.data(), store_.weights(),
                          share);
}

}  // namespace meshwright::calibrate
