// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/stage/embedding.h"

#include <vector>

#include "sim/block/parameters.h"
#include "sim/block/transfer_names.h"

namespace meshwright::calibrate {

Parameter vocabulary_slice(const TrialContext& context, const char* name) {
  const int t = context.layout.tensor_parallel_size;
  Parameter p;
  p.name = name;
  p.rows = padded_vocab_size(context.model, context.job.make_vocab_size_divisible_by, t);
  p.local_rows = p.rows / t;
  p.first_row = p.local_rows * context.groups.at.tensor;
  p.cols = p.local_cols = context.hidden();
  return p;
}

Embedding::Embedding(const TrialContext& context, ParameterStore& store)
    : context_(context), words_(store.add(vocabulary_slice(context, "embedding.words"))) {
  if (context.model.position_embedding != PositionEmbedding::learned) return;
  Parameter p;
  p.name = "embedding.positions";
  p.rows = p.local_rows = context.model.max_position_embeddings;
  p.cols = p.local_cols = context.hidden();
  positions_ = &store.add(p);
  update_positions();
}

void Embedding::update_positions() {
  if (positions_ == nullptr) return;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(context_.rows()));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    ids[i] = static_cast<std::int32_t>(context_.position(row / context_.layout.micro_batch_size));
  }
  set_positions(ids);
}

void Embedding::set_positions(const std::vector<std::int32_t>& positions) {
  if (positions_ == nullptr) return;
  position_ids_ = context_.tensor(static_cast<std::int64_t>(positions.size()));
  context_.compute.upload(position_ids_.data(), positions.data(), position_ids_.size());
  context_.compute.synchronize();
}

Tensor Embedding::forward(const Tensor& tokens) const {
  Compute& compute = context_.compute;
  const std::int64_t rows = context_.rows();
  const std::int64_t h = context_.hidden();
  Tensor y = context_.tensor(rows * h);
  compute.embedding_forward(tokens.integers(), words_.weight, y.data(), rows, words_.first_row,
                            words_.local_rows, h);
  const bool scatter = context_.layout.sequence_parallel && positions_ == nullptr;
  if (scatter) {
    return reduce_sequence(context_, std::move(y), h, transfer_names::kEmbeddingReduceScatter,
                           Phase::forward);
  }
  context_.groups.tensor.all_reduce(transfer_names::kEmbeddingAllReduce, Phase::forward, y.data(),
                                    rows * h);
  if (positions_ != nullptr) {
    const Tensor added = context_.tensor(rows * h);
    compute.embedding_forward(position_ids_.integers(), positions_->weight, added.data(), rows, 0,
                              positions_->rows, h);
    compute.add(y.data(), added.data(), y.data(), rows * h);
  }
  if (!context_.layout.sequence_parallel) return y;
  Tensor share = context_.tensor(context_.local_rows() * h);
  compute.copy(share.data(), y.data() + share.count() * context_.groups.at.tensor, share.size());
  return share;
}

void Embedding::backward(const Tensor& dy, const Tensor& tokens) const {
  const std::int64_t h = context_.hidden();
  const WholeSequence whole(context_, dy.data(), h, transfer_names::kEmbeddingGradientAllGather,
                            Phase::backward);
  context_.compute.embedding_backward(tokens.integers(), whole.data(), words_.gradient,
                                      context_.rows(), words_.first_row, words_.local_rows, h);
  if (positions_ == nullptr) return;
  context_.compute.embedding_backward(position_ids_.integers(), whole.data(), positions_->gradient,
                                      context_.rows(), 0, positions_->rows, h);
}

}  // namespace meshwright::calibrate
