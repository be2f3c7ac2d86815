// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/trial_step.h"

#include <algorithm>
#include <utility>

#include "calibrate/launch/rank_progress.h"
#include "calibrate/trial/rotary_table.h"
#include "sim/operators/operators.h"
#include "sim/volume/transfer_names.h"

namespace meshwright::calibrate {
namespace {

// One stage alone works each micro-batch forward and backward, as Megatron without a pipeline.
StageProgram stage_program(const Layout& layout, int micro_batches, int stage) {
  if (layout.pipeline_parallel_size > 1) {
    return pipeline_programs(
        layout.schedule, layout.pipeline_parallel_size, micro_batches,
        layout.virtual_pipeline_parallel_size)[static_cast<std::size_t>(stage)];
  }
  StageProgram program;
  for (int i = 0; i < micro_batches; ++i) {
    program.push_back({.pass = Pass::forward, .micro_batch = i});
    program.push_back({.pass = Pass::backward, .micro_batch = i});
  }
  return program;
}

void begin_update(std::int64_t weights) {
  const Bytes size = bytes(static_cast<double>(weights) * sizeof(float));
  begin_operation({.name = "optimizer", .amount = size, .slow = slow_transfer(size)});
}

}  // namespace

TrialStep::TrialStep(const Model& model, const Job& job, const Layout& layout, Compute& compute,
                     Communicator& ranks, const StepOptions& options)
    : model_(model),
      job_(job),
      layout_(layout),
      compute_(compute),
      arena_(compute, options.poison_memory),
      recorder_(compute),
      groups_(layout_, ranks, recorder_),
      context_{model_, job_,      layout_, compute_,
               arena_, recorder_, groups_, job_.seq_length / layout_.context_parallel_size},
      options_(options) {
  make_chunks();
  context_.force_load_balancing = options_.moe_router_force_load_balancing;
  store_.allocate(arena_, compute_, kept_states(), options_.seed);
  if (shards_by_unit(layout_)) {
    context_.states = &states_.emplace(context_, store_, chunks_.front().chunk().first_layer);
  }
  const int micro_batches = num_micro_batches(job_.global_batch_size, layout_);
  batches_ = make_micro_batches(context_, micro_batches, options_.seed);
  program_ = stage_program(layout_, micro_batches, groups_.at.pipeline);
  measure_neighbours();
}

// The moments of a shard from ZeRO-1 on; FSDP's weights with them.
KeptStates TrialStep::kept_states() const {
  KeptStates kept;
  if (layout_.zero_stage == 0) return kept;
  kept.dense = {groups_.data_shard.size(), groups_.data_shard.rank()};
  kept.expert = {groups_.expert_data_shard.size(), groups_.expert_data_shard.rank()};
  if (!shards_by_unit(layout_)) return kept;
  kept.whole_gradients = false;
  kept.whole_weights = layout_.zero_stage == 2 && !uses_fsdp(layout_);
  return kept;
}

// The stage's first layers are the ones that block recompute takes.
void TrialStep::make_chunks() {
  if (model_.position_embedding == PositionEmbedding::rope && model_.num_attention_heads > 0) {
    std::vector<std::int64_t> positions;
    for (std::int64_t i = 0; i < context_.positions; ++i) positions.push_back(context_.position(i));
    rotary_ = rotary_table(arena_, compute_, positions, rotary_width(model_));
    context_.rotary_table = rotary_.data();
  }
  const Stage stage =
      pipeline_stages(model_, layout_)[static_cast<std::size_t>(groups_.at.pipeline)];
  int recomputed = fully_recomputed_layers(layout_, stage.num_layers());
  for (const Chunk& chunk : stage.chunks) {
    const int here = std::min(recomputed, chunk.num_layers);
    chunks_.emplace_back(context_, store_, chunk, here);
    recomputed -= here;
  }
}

int TrialStep::previous() const {
  return (groups_.at.pipeline + layout_.pipeline_parallel_size - 1) %
         layout_.pipeline_parallel_size;
}

int TrialStep::next() const { return (groups_.at.pipeline + 1) % layout_.pipeline_parallel_size; }

// Pairs 0-1, 2-3, ... first, then 1-2, 3-4, ..., then the last with the first where chunks go
// round.
void TrialStep::measure_neighbours() {
  const int stage = groups_.at.pipeline, last = layout_.pipeline_parallel_size - 1;
  if (last == 0) return;
  const Tensor buffer = context_.tensor(border_count());
  compute_.fill_zero(buffer.data(), buffer.size());
  compute_.synchronize();
  const auto measure = [&](int with) {
    return groups_.pipeline.measure_transfer(buffer.data(), buffer.count(), with);
  };
  for (const int parity : {0, 1}) {
    if (stage % 2 == parity && stage != last) next_transfer_ = measure(stage + 1);
    if (stage % 2 != parity && stage != 0) previous_transfer_ = measure(stage - 1);
  }
  if (!goes_round()) return;
  if (stage == last) next_transfer_ = measure(0);
  if (stage == 0) previous_transfer_ = measure(last);
}

void TrialStep::run() {
  recorder_.begin_step();
  if (!states_) {
    const TermScope scope(recorder_, TermKind::optimizer);
    for (const ParameterUnit& unit : store_.units()) {
      compute_.fill_zero(unit.gradients.data(), unit.gradients.size());
    }
  }
  for (const Instruction& instruction : program_) {
    recorder_.work_on(instruction.micro_batch, instruction.chunk);
    if (instruction.pass == Pass::forward) {
      forward(instruction);
    } else {
      backward(instruction);
    }
  }
  recorder_.work_on(-1, 0);
  finish_sends();
  reduce_loss();
  reduce_shared_gradients();
  reduce_gradients_and_update();
  recorder_.end_step();
}

void TrialStep::forward(const Instruction& instruction) {
  StageModel& model = chunks_[static_cast<std::size_t>(instruction.chunk)];
  const auto& data = batches_[static_cast<std::size_t>(instruction.micro_batch)];
  Tensor x;
  if (!model.chunk().embedding) {
    x = receive(groups_.pipeline, "activation receive", previous(), previous_transfer_);
  }
  before_computing();
  Tensor y = model.forward(instruction.micro_batch, data, std::move(x));
  if (!model.chunk().head) {
    send(groups_.pipeline, transfer_names::kActivationSend, Phase::forward, std::move(y), next());
  }
}

void TrialStep::backward(const Instruction& instruction) {
  StageModel& model = chunks_[static_cast<std::size_t>(instruction.chunk)];
  const auto& data = batches_[static_cast<std::size_t>(instruction.micro_batch)];
  Tensor dy;
  if (!model.chunk().head) {
    dy =
        receive(groups_.pipeline_backward(), "activation gradient receive", next(), next_transfer_);
  }
  before_computing();
  Tensor dx = model.backward(instruction.micro_batch, data, std::move(dy));
  if (!model.chunk().embedding) {
    send(groups_.pipeline_backward(), transfer_names::kActivationGradientSend, Phase::backward,
         std::move(dx), previous());
  }
}

Tensor TrialStep::receive(CountedGroup& ranks, std::string_view name, int from,
                          double transfer_seconds) {
  Tensor arrived = context_.tensor(border_count());
  ranks.receive(name, arrived.data(), arrived.count(), from, transfer_seconds);
  return arrived;
}

void TrialStep::send(CountedGroup& ranks, std::string_view name, Phase phase, Tensor activation,
                     int to) {
  ranks.send(name, phase, activation.data(), activation.count(), to);
  sent_.push_back(std::move(activation));
}

// A message is posted and the stage goes on; before it computes again the message must be through.
// So a stage that sends and then receives does both at once, and no stage computes while a
// neighbour waits for a transfer that needs this rank's help. Interleaved stages would wait for
// each other in a circle: they send beside computing, as Megatron-LM's overlap_p2p_comm.
void TrialStep::before_computing() {
  if (!goes_round()) finish_sends();
}

void TrialStep::finish_sends() {
  if (sent_.empty()) return;
  groups_.pipeline.wait_sends();
  groups_.pipeline_backward().wait_sends();
  sent_.clear();
}

void TrialStep::reduce_loss() {
  StageModel& last = chunks_.back();
  if (!last.chunk().head) return;
  const auto count = static_cast<float>(batches_.size());
  float sums[2] = {static_cast<float>(last.take_loss()), count};
  if (groups_.data.size() > 1) {
    const Tensor device = context_.tensor(2);
    compute_.upload(device.data(), sums, sizeof sums);
    groups_.data.all_reduce(transfer_names::kLossAllReduce, Phase::step, device.data(), 2);
    compute_.download(sums, device.data(), sizeof sums);
    compute_.synchronize();
  }
  loss_ = static_cast<double>(sums[0]) / static_cast<double>(sums[1]);
}

void TrialStep::reduce_shared_gradients() {
  for (const ParameterUnit& unit : store_.units()) {
    if (unit.partial_count == 0 || states_) continue;
    groups_.tensor.all_reduce(transfer_names::kReplicatedGradientAllReduce, Phase::step,
                              unit.gradients.data() + unit.partial_begin, unit.partial_count);
  }
  for (const StageModel& chunk : chunks_) {
    const Parameter* words = chunk.shared_words();
    if (words == nullptr) continue;
    groups_.embedding.all_reduce(transfer_names::kSharedEmbeddingAllReduce, Phase::step,
                                 words->gradient, words->count());
  }
}

void TrialStep::reduce_gradients_and_update() {
  const AdamStep adam{.learning_rate = options_.learning_rate, .step = ++steps_done_};
  if (states_) return states_->update(adam);
  for (const ParameterUnit& unit : store_.units()) {
    if (layout_.zero_stage > 0 && unit.shards.count > 1) {
      update_shard(unit, adam);
    } else {
      update_whole(unit, adam);
    }
  }
}

void TrialStep::update_whole(const ParameterUnit& unit, const AdamStep& adam) {
  CountedGroup& ranks = unit.expert ? groups_.expert_data : groups_.data;
  ranks.all_reduce(transfer_names::kGradientAllReduce, Phase::step, unit.gradients.data(),
                   unit.total);
  const TermScope scope(recorder_, TermKind::optimizer);
  begin_update(unit.total);
  compute_.adam(unit.weights.data(), unit.gradients.data(), unit.exp_avg.data(),
                unit.exp_avg_sq.data(), unit.total, adam);
}

// ZeRO-1: each data rank sums, updates and hands out its part of the arrays (arXiv
// 1910.02054, 5.1). What ranks with the same part have is summed between them.
void TrialStep::update_shard(const ParameterUnit& unit, const AdamStep& adam) {
  CountedGroup& ranks = unit.expert ? groups_.expert_data_shard : groups_.data_shard;
  CountedGroup& copies = unit.expert ? groups_.expert_data_copies : groups_.data_copies;
  const std::int64_t share = unit.total / ranks.size();
  const Tensor gradient = context_.tensor(share);
  ranks.reduce_scatter(transfer_names::kGradientReduceScatter, Phase::step, unit.gradients.data(),
                       gradient.data(), share);
  copies.all_reduce(transfer_names::kShardAllReduce, Phase::step, gradient.data(), share);
  const Tensor weight = context_.tensor(share);
  {
    const TermScope scope(recorder_, TermKind::optimizer);
    begin_update(share);
    compute_.copy(weight.data(), unit.weights.data() + share * ranks.rank(), weight.size());
    compute_.adam(weight.data(), gradient.data(), unit.exp_avg.data(), unit.exp_avg_sq.data(),
                  share, adam);
  }
  ranks.all_gather(transfer_names::kUpdatedWeightAllGather, Phase::step, weight.data(),
                   unit.weights.data(), share);
}

void TrialStep::gather_weights() {
  if (states_) states_->gather_all();
}

}  // namespace meshwright::calibrate
