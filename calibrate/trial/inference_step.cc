// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/inference_step.h"

#include <algorithm>
#include <utility>

#include "calibrate/trial/layer/rotary_table.h"
#include "calibrate/trial/stage/batch.h"

namespace meshwright::calibrate {

InferenceStep::InferenceStep(const Model& model, const Job& job, const Layout& layout,
                             Compute& compute, Communicator& ranks, const StepOptions& options,
                             int decode_tokens)
    : model_(model),
      job_(job),
      layout_(layout),
      compute_(compute),
      arena_(compute, options.poison_memory, options.memory_limit),
      recorder_(compute),
      groups_(layout_, ranks, recorder_, {compute, arena_, message_formats(job_)}),
      context_{model_, job_, layout_, compute_, arena_, recorder_, groups_, job_.seq_length},
      seed_(options.seed),
      decode_tokens_(decode_tokens),
      capacity_(job.seq_length + decode_tokens) {
  context_.force_load_balancing = options.moe_router_force_load_balancing;
  if (model_.position_embedding == PositionEmbedding::rope) {
    rotary_ = rotary_table(arena_, compute_, first_positions(capacity_), rotary_width(model_));
    context_.rotary_table = rotary_.data();
  }
  embedding_.emplace(context_, store_);
  for (int i = 0; i < model_.num_layers; ++i) layers_.emplace_back(context_, store_, i);
  final_norm_.emplace(context_, store_, "final_norm");
  head_.emplace(context_, store_, &embedding_->words());
  store_.allocate_weights(arena_, compute_, seed_, context_.operand_format());
  for (const Layer& layer : layers_) caches_.push_back(layer.make_cache(capacity_));
}

void InferenceStep::run() {
  if (decode_tokens_ == 0) {
    const std::vector<std::int32_t> tokens = prompt();
    recorder_.begin_step();
    prefill(tokens);
    return recorder_.end_step();
  }
  if (next_position_ == 0) prefill(prompt());
  next_position_ = job_.seq_length;
  std::vector<std::int32_t> tokens = likeliest();
  recorder_.begin_step();
  for (int i = 0; i < decode_tokens_; ++i) {
    recorder_.work_on(i, 0);
    decode(tokens);
    tokens = likeliest();
  }
  recorder_.end_step();
}

void InferenceStep::prefill(const std::vector<std::int32_t>& tokens) {
  pass(tokens, 0);
  next_position_ = job_.seq_length;
}

void InferenceStep::decode(const std::vector<std::int32_t>& tokens) {
  pass(tokens, next_position_);
  ++next_position_;
}

std::vector<std::int32_t> InferenceStep::prompt() const {
  const std::int64_t batch = layout_.micro_batch_size;
  return token_ids(model_, batch, job_.seq_length, 0, 0, seed_);
}

void InferenceStep::pass(const std::vector<std::int32_t>& tokens, std::int64_t first_position) {
  const TermScope scope(recorder_, TermKind::forward_compute);
  context_.first_position = first_position;
  context_.positions = static_cast<std::int64_t>(tokens.size()) / layout_.micro_batch_size;
  embedding_->update_positions();
  const Tensor ids = context_.tensor(context_.rows());
  compute_.upload(ids.data(), tokens.data(), ids.size());
  Tensor x = embedding_->forward(ids);
  round_between_layers(context_, x);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = layers_[i].forward_cached(std::move(x), caches_[i]);
    round_between_layers(context_, x);
  }
  take_logits(x);
}

// Only the last position asks for the next token.
void InferenceStep::take_logits(const Tensor& x) {
  const std::int64_t batch = layout_.micro_batch_size;
  const Tensor last = context_.tensor(batch * context_.hidden());
  compute_.copy(last.data(), x.data() + (context_.positions - 1) * last.count(), last.size());
  context_.positions = 1;
  NormSaved unused;
  const Tensor all = head_->gathered_logits(final_norm_->forward(last, unused));
  std::vector<float> pieces(static_cast<std::size_t>(all.count()));
  compute_.download(pieces.data(), all.data(), all.size());
  compute_.synchronize();
  const std::int64_t share = all.count() / batch / groups_.tensor.size();
  logits_.resize(static_cast<std::size_t>(batch * model_.vocab_size));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(logits_.size()); ++i) {
    const std::int64_t row = i / model_.vocab_size, id = i % model_.vocab_size;
    const std::int64_t at = (id / share * batch + row) * share + id % share;
    logits_[static_cast<std::size_t>(i)] = pieces[static_cast<std::size_t>(at)];
  }
}

std::vector<std::int32_t> InferenceStep::likeliest() const {
  std::vector<std::int32_t> tokens;
  for (auto row = logits_.begin(); row != logits_.end(); row += model_.vocab_size) {
    tokens.push_back(
        static_cast<std::int32_t>(std::max_element(row, row + model_.vocab_size) - row));
  }
  return tokens;
}

}  // namespace meshwright::calibrate
