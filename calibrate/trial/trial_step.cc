// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/trial_step.h"

#include <algorithm>
#include <utility>

#include "calibrate/trial/optimizer_step.h"
#include "calibrate/trial/rotary_table.h"
#include "sim/operators/operators.h"
#include "sim/volume/transfer_names.h"

namespace meshwright::calibrate {
namespace {

// Of all stages. One stage alone works each micro-batch forward and backward, as Megatron without a
// pipeline.
std::vector<StageProgram> stage_programs(const Layout& layout, int micro_batches) {
  if (layout.pipeline_parallel_size > 1) {
    return pipeline_programs(layout.schedule, layout.pipeline_parallel_size, micro_batches,
                             layout.virtual_pipeline_parallel_size);
  }
  StageProgram program;
  for (int i = 0; i < micro_batches; ++i) {
    program.push_back({.pass = Pass::forward, .micro_batch = i});
    program.push_back({.pass = Pass::backward, .micro_batch = i});
  }
  return {program};
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
      host_(compute, arena_, recorder_),
      groups_(layout_, ranks, recorder_, {compute, arena_, message_formats(job_)}),
      context_{model_, job_,      layout_, compute_,
               arena_, recorder_, groups_, job_.seq_length / layout_.context_parallel_size},
      owed_(arena_),
      options_(options) {
  context_.owed = &owed_;
  context_.host = &host_;
  make_chunks();
  context_.force_load_balancing = options_.moe_router_force_load_balancing;
  store_.allocate(arena_, compute_, kept_states(), options_.seed);
  if (shards_by_unit(layout_)) {
    context_.states = &states_.emplace(context_, store_, chunks_.front().chunk().first_layer);
  }
  const int micro_batches = num_micro_batches(job_.global_batch_size, layout_);
  batches_ = make_micro_batches(context_, micro_batches, options_.seed);
  const std::vector<StageProgram> programs = stage_programs(layout_, micro_batches);
  program_ = programs[static_cast<std::size_t>(groups_.at.pipeline)];
  exchange_.emplace(context_, programs, pipeline_stages(model_, layout_), ranks.sends_alone());
}

// The moments of a shard from ZeRO-1 on; FSDP's weights with them.
KeptStates TrialStep::kept_states() const {
  KeptStates kept;
  kept.moments_on_host = layout_.optimizer_offload;
  if (layout_.zero_stage == 0) return kept;
  kept.dense = {groups_.data_shard.size(), groups_.data_shard.rank()};
  kept.expert = {groups_.expert_data_shard.size(), groups_.expert_data_shard.rank()};
  if (!shards_by_unit(layout_)) return kept;
  kept.whole_gradients = defers_gradients(layout_);
  kept.whole_weights = layout_.zero_stage == 2 && !uses_fsdp(layout_);
  return kept;
}

// Stages that hold copies of each other's chunks meet them in opposite orders. Their arrays have
// the model's.
bool TrialStep::mirrors_order() const {
  return traits(layout_.schedule).mirrored() &&
         2 * groups_.at.pipeline >= layout_.pipeline_parallel_size;
}

StageModel& TrialStep::chunk(int index) {
  const auto i = static_cast<std::size_t>(index);
  return chunks_[mirrors_order() ? chunks_.size() - 1 - i : i];
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
  int offloaded = layout_.cpu_offloading_num_layers;
  std::vector<Chunk> in_model_order = stage.chunks;
  if (mirrors_order()) std::reverse(in_model_order.begin(), in_model_order.end());
  Parameter* words = nullptr;
  for (const Chunk& chunk : in_model_order) {
    const int here = std::min(recomputed, chunk.num_layers);
    const int on_host = std::min(offloaded, chunk.num_layers);
    const StageModel& made = chunks_.emplace_back(context_, store_, chunk, here, on_host, words);
    if (words == nullptr) words = made.words();
    recomputed -= here;
    offloaded -= on_host;
  }
  const bool predicts = model_.mtp_num_layers > 0 && stage.has_mtp();
  const bool uses_again = predicts || (model_.tied_embeddings && stage.has_head());
  const bool elsewhere = stage.has_embedding() != uses_again;
  if (elsewhere && (model_.tied_embeddings || model_.mtp_num_layers > 0)) shared_words_ = words;
}

void TrialStep::run() {
  recorder_.begin_step();
  host_.begin_step();
  zero_gradients();
  for (std::size_t i = 0; i < program_.size(); ++i) {
    recorder_.work_on(program_[i].micro_batch, program_[i].chunk);
    exchange_->before(i);
    run(program_[i]);
  }
  recorder_.work_on(-1, 0);
  exchange_->before(program_.size());
  exchange_->finish();
  reduce_loss();
  reduce_shared_gradients();
  reduce_gradients_and_update();
  recorder_.end_step();
}

// Those that are whole for a unit at a time are zeroed with it.
void TrialStep::zero_gradients() {
  const TermScope scope(recorder_, TermKind::optimizer);
  for (const ParameterUnit& unit : store_.units()) {
    if (unit.gradients.empty()) continue;
    compute_.fill_zero(unit.gradients.data(), unit.gradients.size());
  }
}

void TrialStep::run(const Instruction& instruction) {
  Tensor input = exchange_->take(instruction);
  exchange_->before_computing();
  exchange_->give(instruction, compute(instruction, std::move(input)));
}

Tensor TrialStep::compute(const Instruction& instruction, Tensor input) {
  StageModel& model = chunk(instruction.chunk);
  const int micro_batch = instruction.micro_batch;
  const MicroBatch& data = batches_[static_cast<std::size_t>(micro_batch)];
  const WeightGradientStore::Key pass{instruction.chunk, micro_batch};
  switch (instruction.pass) {
    case Pass::forward:
      return model.forward(micro_batch, data, std::move(input));
    case Pass::backward:
      return model.backward(micro_batch, data, std::move(input));
    case Pass::backward_input: {
      owed_.open(pass);
      Tensor dx = model.backward(micro_batch, data, std::move(input));
      owed_.close();
      return dx;
    }
    case Pass::backward_weight:
      break;
  }
  const TermScope scope(recorder_, TermKind::backward_compute);
  owed_.run(pass, context_);
  return {};
}

bool TrialStep::has_loss() const { return chunks_.back().chunk().head; }

void TrialStep::reduce_loss() {
  if (!has_loss()) return;
  const auto count = static_cast<float>(batches_.size());
  float sums[2] = {static_cast<float>(chunks_.back().take_loss()), count};
  if (groups_.data.size() > 1) {
    const Tensor device = context_.tensor(2);
    compute_.upload(device.data(), sums, sizeof sums);
    groups_.data.all_reduce(transfer_names::kLossAllReduce, Phase::step, device.data(), 2);
    compute_.download(sums, device.data(), sizeof sums);
    compute_.synchronize();
  }
  loss_ = static_cast<double>(sums[0]) / static_cast<double>(sums[1]);
  if (groups_.mirrored.size() == 1) return;
  double both[2];  // each has seen half the micro-batches
  groups_.mirrored.host_gather(&loss_, both, sizeof loss_);
  loss_ = both[0] + both[1];
}

void TrialStep::reduce_shared_gradients() {
  for (const ParameterUnit& unit : store_.units()) {
    if (unit.partial_count == 0 || unit.gradients.empty()) continue;
    groups_.tensor.all_reduce(transfer_names::kReplicatedGradientAllReduce, Phase::step,
                              unit.gradients.data() + unit.partial_begin, unit.partial_count);
  }
  if (shared_words_ == nullptr) return;
  groups_.embedding.all_reduce(transfer_names::kSharedEmbeddingAllReduce, Phase::step,
                               shared_words_->gradient, shared_words_->count());
}

void TrialStep::reduce_gradients_and_update() {
  const AdamStep adam{.learning_rate = options_.learning_rate, .step = ++steps_done_};
  if (states_) return states_->update(adam);
  for (ParameterUnit& unit : store_.units()) {
    if (layout_.zero_stage > 0 && unit.shards.count > 1) {
      update_shard(unit, adam);
    } else {
      update_whole(unit, adam);
    }
  }
}

void TrialStep::update_whole(ParameterUnit& unit, const AdamStep& adam) {
  CountedGroup& ranks = unit.expert ? groups_.expert_data : groups_.data;
  ranks.all_reduce(transfer_names::kGradientAllReduce, Phase::step, unit.gradients.data(),
                   unit.total);
  groups_.mirrored.all_reduce(transfer_names::kMirroredGradientAllReduce, Phase::step,
                              unit.gradients.data(), unit.total);
  update_weights(context_, unit, unit.weights.data(), unit.gradients.data(), unit.total, adam);
}

// ZeRO-1: each data rank sums, updates and hands out its part of the arrays (arXiv
// 1910.02054, 5.1). What ranks with the same part have is summed between them. DeepSpeed may sum
// whole gradients (reduce_scatter false).
void TrialStep::update_shard(ParameterUnit& unit, const AdamStep& adam) {
  CountedGroup& ranks = unit.expert ? groups_.expert_data_shard : groups_.data_shard;
  CountedGroup& copies = unit.expert ? groups_.expert_data_copies : groups_.data_copies;
  const std::int64_t share = unit.total / ranks.size();
  const Tensor gradient = context_.tensor(share);
  if (layout_.all_reduce_gradients) {
    CountedGroup& all = unit.expert ? groups_.expert_data : groups_.data;
    all.all_reduce(transfer_names::kGradientAllReduce, Phase::step, unit.gradients.data(),
                   unit.total);
    compute_.copy(gradient.data(), unit.gradients.data() + share * ranks.rank(), gradient.size());
  } else {
    ranks.reduce_scatter(transfer_names::kGradientReduceScatter, Phase::step, unit.gradients.data(),
                         gradient.data(), share);
    copies.all_reduce(transfer_names::kShardAllReduce, Phase::step, gradient.data(), share);
  }
  groups_.mirrored.all_reduce(transfer_names::kMirroredGradientAllReduce, Phase::step,
                              gradient.data(), share);
  const Tensor weight = context_.tensor(share);
  float* own = unit.weights.data() + share * ranks.rank();
  {
    const TermScope scope(recorder_, TermKind::optimizer);
    compute_.copy(weight.data(), own, weight.size());
    update_weights(context_, unit, weight.data(), gradient.data(), share, adam);
  }
  ranks.all_gather(transfer_names::kUpdatedWeightAllGather, Phase::step, weight.data(),
                   unit.weights.data(), share);
  const bool rounded = has_sixteen_bits(message_formats(job_).weights);
  if (rounded) compute_.copy(own, weight.data(), weight.size());  // the master copy
}

void TrialStep::gather_weights() {
  if (states_) states_->gather_all();
}

}  // namespace meshwright::calibrate
