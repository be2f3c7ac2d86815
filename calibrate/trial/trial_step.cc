// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/trial_step.h"

#include <algorithm>
#include <set>
#include <utility>

#include "calibrate/trial/layer/rotary_table.h"
#include "sim/block/transfer_names.h"
#include "sim/operators/operators.h"

namespace meshwright::calibrate {
namespace {

// Programs of all stages. A single stage runs each micro-batch forward and backward for every
// schedule, as Megatron-LM does without a pipeline.
std::vector<StageProgram> stage_programs(const Layout& layout, const Job& job) {
  const bool pipeline = layout.pipeline_parallel_size > 1;
  return pipeline_programs(pipeline ? layout.schedule : kDefaultSchedule,
                           pipeline_sizes(layout, job.global_batch_size));
}

}  // namespace

TrialStep::TrialStep(const Model& model, const Job& job, const Layout& layout, Compute& compute,
                     Communicator& ranks, const StepOptions& options)
    : TrialStep(model, job, layout, compute, ranks, GroupCommunicators(layout, ranks), options) {}

TrialStep::TrialStep(const Model& model, const Job& job, const Layout& layout, Compute& compute,
                     const Communicator& ranks, const GroupCommunicators& made,
                     const StepOptions& options)
    : model_(model),
      job_(job),
      layout_(layout),
      compute_(compute),
      arena_(compute, options.poison_memory, options.memory_limit),
      recorder_(compute),
      host_(compute, arena_, recorder_),
      groups_(layout_, ranks.rank(), made, recorder_, {compute, arena_, message_formats(job_)}),
      context_{model_, job_,      layout_, compute_,
               arena_, recorder_, groups_, job_.seq_length / layout_.context_parallel_size},
      deferred_(arena_),
      options_(options) {
  context_.deferred = &deferred_;
  context_.host = &host_;
  context_.balanced = &balanced_;
  make_chunks();
  context_.force_load_balancing = options_.moe_router_force_load_balancing;
  store_.allocate(arena_, compute_, kept_states(), options_.seed);
  if (shards_by_unit(layout_)) {
    context_.states = &states_.emplace(context_, store_, chunks_.front().chunk().first_layer);
  } else {
    context_.whole_states = &whole_states_.emplace(context_, store_);
  }
  const int micro_batches = num_micro_batches(job_.global_batch_size, layout_);
  batches_ = make_micro_batches(context_, micro_batches, options_.seed);
  const std::vector<StageProgram> programs = stage_programs(layout_, job_);
  program_ = programs[static_cast<std::size_t>(groups_.at.pipeline)];
  find_last_passes();
  exchange_.emplace(context_, programs, pipeline_stages(model_, layout_), ranks.sends_alone());
}

// The moments of a shard from ZeRO-1 on; FSDP's weights with them.
KeptStates TrialStep::kept_states() const {
  KeptStates kept;
  kept.moments_on_host = layout_.optimizer_offload;
  kept.operands = context_.operand_format();
  if (layout_.zero_stage == 0) return kept;
  kept.dense = {groups_.data_shard.size(), groups_.data_shard.rank()};
  kept.expert = {groups_.expert_data_shard.size(), groups_.expert_data_shard.rank()};
  if (!shards_by_unit(layout_)) return kept;
  kept.whole_gradients = defers_gradients(job_, layout_);
  kept.gradients = !uses_fsdp(layout_);
  kept.whole_weights = layout_.zero_stage == 2 && !uses_fsdp(layout_);
  return kept;
}

void TrialStep::find_last_passes() {
  last_of_chunk_.assign(program_.size(), false);
  std::set<int> chunks;
  for (std::size_t i = program_.size(); i-- > 0;) {
    const bool gives =
        program_[i].pass == Pass::backward || program_[i].pass == Pass::backward_weight;
    if (gives) last_of_chunk_[i] = chunks.insert(program_[i].chunk).second;
  }
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
    const bool pair = runs_with_next(i);
    if (whole_states_) whole_states_->begin_pass(last_of_chunk_[pair ? i + 1 : i]);
    if (pair) {
      run_pair(program_[i], program_[i + 1]);
      ++i;
    } else {
      run(program_[i]);
    }
  }
  recorder_.work_on(-1, 0);
  exchange_->before(program_.size());
  exchange_->finish();
  reduce_loss();
  reduce_shared_gradients();
  update();
  recorder_.end_step();
}

// Gradients that are whole for one unit at a time are zeroed with it.
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

// Where a layout does not ask for it, DualPipe's pairs run one after the other.
bool TrialStep::runs_with_next(std::size_t instruction) const {
  return layout_.overlap_moe_expert_parallel_comm && program_[instruction].with_next;
}

ForwardPass TrialStep::forward_pass(const Instruction& instruction, Tensor x) {
  const MicroBatch& data = batches_[static_cast<std::size_t>(instruction.micro_batch)];
  return {chunk(instruction.chunk), instruction, data, std::move(x)};
}

BackwardPass TrialStep::backward_pass(const Instruction& instruction, Tensor dy) {
  const MicroBatch& data = batches_[static_cast<std::size_t>(instruction.micro_batch)];
  return {chunk(instruction.chunk), instruction, data, std::move(dy)};
}

void TrialStep::run_pair(const Instruction& forward, const Instruction& backward) {
  Tensor x = exchange_->take(forward), dy = exchange_->take(backward);
  exchange_->before_computing();
  PairResult result =
      run_together(forward_pass(forward, std::move(x)), backward_pass(backward, std::move(dy)));
  exchange_->give(forward, std::move(result.forward));
  exchange_->give(backward, std::move(result.backward));
}

Tensor TrialStep::compute(const Instruction& instruction, Tensor input) {
  const WeightGradientStore::Key pass{instruction.chunk, instruction.micro_batch};
  switch (instruction.pass) {
    case Pass::forward:
      return calibrate::run(forward_pass(instruction, std::move(input)));
    case Pass::backward:
      return calibrate::run(backward_pass(instruction, std::move(input)));
    case Pass::backward_input: {
      deferred_.open(pass);
      Tensor dx = calibrate::run(backward_pass(instruction, std::move(input)));
      deferred_.close();
      return dx;
    }
    case Pass::backward_weight:
      break;
  }
  const TermScope scope(recorder_, TermKind::backward_compute);
  deferred_.run(pass, context_);
  if (whole_states_) chunk(instruction.chunk).reduce_all_gradients();
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
  if (states_) {
    for (const ParameterUnit& unit : store_.units()) sum_partial_gradients(context_, unit);
  }
  if (shared_words_ == nullptr) return;
  groups_.embedding.all_reduce(transfer_names::kSharedEmbeddingAllReduce, Phase::step,
                               shared_words_->gradient, shared_words_->count());
}

void TrialStep::update() {
  const AdamStep adam{.learning_rate = options_.learning_rate, .step = ++steps_done_};
  states_ ? states_->update(adam) : whole_states_->update(adam);
}

void TrialStep::gather_weights() { states_ ? states_->gather_all() : whole_states_->gather_all(); }

}  // namespace meshwright::calibrate
