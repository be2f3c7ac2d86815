// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/serving_model.h"

#include <algorithm>
#include <utility>

#include "calibrate/trial/layer/rotary_table.h"
#include "sim/base/error.h"
#include "sim/block/transfer_names.h"
#include "sim/serving/weights.h"

namespace meshwright::calibrate {
namespace {

// Engines drop no tokens, and draft with other passes.
Model model_as_served(Model model) {
  model.mtp_num_layers = 0;
  if (model.moe) model.moe->moe_expert_capacity_factor = 0.0;
  return model;
}

}  // namespace

Layout serving_ranks(const ReplicaLayout& replica) {
  Layout layout{};
  layout.tensor_parallel_size = replica.tensor_parallel_size;
  layout.pipeline_parallel_size = replica.pipeline_parallel_size;
  layout.expert_parallel_size = replica.expert_parallel_size;
  layout.expert_tensor_parallel_size = expert_tensor_size(replica);
  layout.moe_token_dispatcher_type = MoeTokenDispatcherType::allgather;
  return layout;
}

Job serving_job(const Model& model, const ReplicaLayout& replica, Precision precision) {
  Job job;
  job.precision = precision;
  job.attention_kernel = AttentionKernel::unfused;
  job.make_vocab_size_divisible_by =
      static_cast<int>(served_vocab_size(model)) / replica.tensor_parallel_size;
  return job;
}

ServingModel::ServingModel(const Model& model, const ReplicaLayout& replica, Compute& compute,
                           Communicator& ranks, const ServingModelOptions& options)
    : model_(model_as_served(model)),
      layout_(serving_ranks(replica)),
      job_(serving_job(model, replica, options.precision)),
      compute_(compute),
      arena_(compute, options.poison_memory),
      recorder_(compute),
      groups_(layout_, ranks, recorder_, {compute, arena_, message_formats(job_)}),
      context_{model_, job_, layout_, compute_, arena_, recorder_, groups_, 1},
      longest_(options.longest) {
  context_.force_load_balancing = false;
  if (model_.position_embedding == PositionEmbedding::rope) {
    rotary_ = rotary_table(arena_, compute_, first_positions(longest_), rotary_width(model_));
  }
  if (stages() > 1) {
    invariant(serves_stages(ranks), "stages are served where sends stand alone");
    back_ = ranks.split(groups_.at.tensor, stage());
  }
  if (is_first_stage()) embedding_.emplace(context_, store_);
  const StageLayers own = replica_stage_layers(model_.num_layers, stages(), stage());
  for (int i = 0; i < own.count; ++i) layers_.emplace_back(context_, store_, own.first + i, i);
  if (is_last_stage()) {
    final_norm_.emplace(context_, store_, "final_norm");
    head_.emplace(context_, store_, embedding_ ? &embedding_->words() : nullptr);
  }
  store_.allocate_weights(arena_, compute_, options.seed);
  const PageShape pages =
      layers_.empty() ? PageShape{} : layers_.front().page_shape(options.block_size);
  cache_.emplace(context_, own.count, options.blocks, pages);
}

Tensor ServingModel::uploaded(const std::vector<std::int32_t>& values) {
  Tensor device = context_.tensor(static_cast<std::int64_t>(values.size()));
  compute_.upload(device.data(), values.data(), device.size());
  compute_.synchronize();
  return device;
}

void ServingModel::set_positions(const std::vector<std::int32_t>& positions) {
  if (embedding_) embedding_->set_positions(positions);
  if (rotary_.empty()) return;
  const std::int64_t width = rotary_width(model_), rows = context_.positions;
  const Tensor ids = uploaded(positions);
  rotary_rows_ = context_.tensor(rows * width);
  compute_.embedding_forward(ids.integers(), rotary_.data(), rotary_rows_.data(), rows, 0, longest_,
                             width);
  context_.rotary_table = rotary_rows_.data();
}

std::vector<std::int32_t> ServingModel::pass(const std::vector<SequenceInput>& sequences) {
  const TermScope scope(recorder_, TermKind::forward_compute);
  std::vector<std::int32_t> tokens, positions, last_rows;
  std::vector<SequenceRows> rows;
  for (const SequenceInput& one : sequences) {
    rows.push_back({static_cast<std::int64_t>(tokens.size()), one.count, one.cached, one.blocks});
    for (std::int64_t i = 0; i < one.count; ++i) {
      tokens.push_back(is_first_stage() ? one.tokens[i] : 0);
      positions.push_back(static_cast<std::int32_t>(one.cached + i));
    }
    last_rows.push_back(static_cast<std::int32_t>(tokens.size()) - 1);
  }
  context_.positions = static_cast<std::int64_t>(tokens.size());
  set_positions(positions);
  Tensor x = stage_input(tokens);
  for (const ServingLayer& layer : layers_) {
    x = layer.forward(std::move(x), rows, *cache_);
    round_between_layers(context_, x);
  }
  if (!is_last_stage()) {
    send_output(std::move(x));
    return {};
  }
  const std::vector<std::int32_t> found = likeliest(x, last_rows);
  if (back_) send_tokens(found);
  return found;
}

// The message before must be through before the stage computes again: then no next stage waits for
// a transfer that needs this rank's help (stage_exchange.h). The input is taken first.
Tensor ServingModel::stage_input(const std::vector<std::int32_t>& tokens) {
  if (is_first_stage()) {
    finish_sends();
    Tensor x = embedding_->forward(uploaded(tokens));
    round_between_layers(context_, x);
    return x;
  }
  Tensor x = context_.tensor(context_.positions * context_.hidden());
  // All of the wait counts as waiting: passes have all sizes, and none is measured alone.
  groups_.pipeline.receive("stage receive", x.data(), x.count(), stage() - 1, 0.0);
  finish_sends();
  return x;
}

void ServingModel::send_output(Tensor x) {
  compute_.synchronize();
  groups_.pipeline.send(transfer_names::kStageSend, Phase::forward, x.data(), x.count(),
                        stage() + 1);
  sent_.push_back(std::move(x));
}

void ServingModel::finish_sends() {
  if (sent_.empty()) return;
  groups_.pipeline.wait_sends();
  sent_.clear();
}

// Whole numbers of 32 bits travel as they lie in memory.
void ServingModel::send_tokens(const std::vector<std::int32_t>& tokens) {
  for (std::size_t n = back_->finished_sends(); n > 0; --n) sent_back_.pop_front();
  sent_back_.push_back(uploaded(tokens));
  const Tensor& message = sent_back_.back();
  back_->send({message.data(), Precision::fp32}, message.count(), 0);
}

std::vector<std::int32_t> ServingModel::returned_tokens(std::size_t sequences) {
  const Tensor arrived = context_.tensor(static_cast<std::int64_t>(sequences));
  back_->receive({arrived.data(), Precision::fp32}, arrived.count(), stages() - 1);
  std::vector<std::int32_t> tokens(sequences);
  compute_.download(tokens.data(), arrived.data(), arrived.size());
  compute_.synchronize();
  return tokens;
}

void ServingModel::finish_passes() {
  finish_sends();
  if (sent_back_.empty()) return;
  back_->wait_sends();
  sent_back_.clear();
}

std::vector<std::int32_t> ServingModel::likeliest(const Tensor& x,
                                                  const std::vector<std::int32_t>& last_rows) {
  const std::int64_t h = context_.hidden(), rows = context_.positions;
  const auto count = static_cast<std::int64_t>(last_rows.size());
  const Tensor last = context_.tensor(count * h), ids = uploaded(last_rows);
  compute_.embedding_forward(ids.integers(), x.data(), last.data(), count, 0, rows, h);
  context_.positions = count;
  NormSaved unused;
  const Tensor all = head_->gathered_logits(final_norm_->forward(last, unused));
  logits_ = downloaded(context_, all);
  // Padding is no token.
  const std::int64_t share = all.count() / count / groups_.tensor.size();
  std::vector<std::int32_t> tokens;
  for (std::int64_t row = 0; row < count; ++row) {
    std::int64_t best = 0;
    float most = logits_[static_cast<std::size_t>(row * share)];
    for (std::int64_t id = 1; id < model_.vocab_size; ++id) {
      const std::int64_t at = (id / share * count + row) * share + id % share;
      const float logit = logits_[static_cast<std::size_t>(at)];
      if (logit <= most) continue;
      most = logit;
      best = id;
    }
    tokens.push_back(static_cast<std::int32_t>(best));
  }
  return tokens;
}

}  // namespace meshwright::calibrate
