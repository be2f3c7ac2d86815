// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/latent_attention.h"

#include <utility>

namespace meshwright::calibrate {
namespace {

using namespace transfer_names;

Parameter down_projection(const TrialContext& context, const std::string& name, std::int64_t cols) {
  Parameter p;
  p.name = name;
  p.rows = p.local_rows = context.hidden();
  p.cols = p.local_cols = cols;
  p.partial_gradient = context.layout.sequence_parallel;
  return p;
}

std::int64_t key_width(const LatentAttention& mla) {
  return mla.qk_head_dim + mla.qk_pos_emb_head_dim;
}

}  // namespace

MultiLatentAttention::MultiLatentAttention(const TrialContext& context, ParameterStore& store,
                                           const std::string& name, std::int64_t window)
    : context_(context),
      mla_(*context.model.mla),
      heads_(context.model.num_attention_heads / context.layout.tensor_parallel_size),
      key_width_(key_width(mla_)),
      query_up_(context, store, name + ".q_up", 1, query_size(context.model), false,
                input_names(kLatentQuery, context.layout.sequence_parallel),
                mla_.q_lora_rank > 0 ? mla_.q_lora_rank : context.hidden()),
      key_value_down_(
          store.add(down_projection(context, name + ".kv_down.weight",
                                    std::int64_t{mla_.kv_lora_rank} + mla_.qk_pos_emb_head_dim))),
      key_value_norm_(context, store, name + ".kv_norm", mla_.kv_lora_rank),
      key_value_up_(
          context, store, name + ".kv_up", 1,
          std::int64_t{context.model.num_attention_heads} * (mla_.qk_head_dim + mla_.v_head_dim),
          false, input_names(kLatentKeyValue, context.layout.sequence_parallel), mla_.kv_lora_rank),
      core_(context, {heads_, 1, key_width_, mla_.v_head_dim}, window),
      projection_(context, store, name + ".projection", attention_output_size(context.model),
                  context.model.add_bias_linear,
                  output_names(kAttention, context.layout.sequence_parallel)) {
  if (mla_.q_lora_rank == 0) return;
  query_down_ = &store.add(down_projection(context, name + ".q_down.weight", mla_.q_lora_rank));
  query_norm_.emplace(context, store, name + ".q_norm", mla_.q_lora_rank);
}

Tensor MultiLatentAttention::down(const Tensor& x, const Parameter& weight) const {
  Tensor latent = context_.tensor(context_.local_rows() * weight.cols);
  forward_product(context_, context_.local_rows(), x.numbers(), weight, latent.data());
  return latent;
}

void MultiLatentAttention::down_backward(const Tensor& dlatent, const Tensor& x,
                                         const Parameter& weight, const Tensor& dx) const {
  input_gradient(context_, context_.local_rows(), dlatent.data(), weight, dx.data(), 1.0F);
  weight_gradient(context_, context_.local_rows(), dlatent.data(), x.numbers(), weight);
}

Tensor MultiLatentAttention::gathered_rotary_key(const Tensor& latent, Phase phase) const {
  const std::int64_t rows = context_.local_rows(), cols = mla_.qk_pos_emb_head_dim;
  Tensor own = context_.tensor(rows * cols);
  context_.compute.copy_rows(own.data(), cols, latent.data() + mla_.kv_lora_rank,
                             mla_.kv_lora_rank + cols, rows, cols);
  if (!context_.layout.sequence_parallel) return own;
  Tensor all = context_.tensor(context_.rows() * cols);
  context_.groups.tensor.all_gather(kRotaryKeyGather, phase, own.data(), all.data(), own.count());
  return all;
}

void MultiLatentAttention::rotate(const Tensor& x, std::int64_t groups, std::int64_t width,
                                  bool inverse) const {
  if (context_.rotary_table == nullptr) return;
  const std::int64_t cols = mla_.qk_pos_emb_head_dim, vectors = context_.rows() * groups;
  const std::int64_t batch = context_.layout.micro_batch_size;
  const Tensor by_row = context_.tensor(vectors * cols), by_head = context_.tensor(vectors * cols);
  float* last = x.data() + width - cols;
  context_.compute.copy_rows(by_row.data(), cols, last, width, vectors, cols);
  context_.compute.to_heads(by_row.data(), by_head.data(), context_.positions, batch, groups, 1,
                            cols);
  context_.compute.rotary(by_head.data(), context_.rotary_table, groups * batch, 1, 1,
                          context_.positions, cols, inverse);
  context_.compute.from_heads(by_head.data(), by_row.data(), context_.positions, batch, groups, 1,
                              cols);
  context_.compute.copy_rows(last, width, by_row.data(), cols, vectors, cols);
}

// An array of the heads' blocks, from columns at `at` of each position on.
void MultiLatentAttention::put(const Tensor& heads, Tensor rows, std::int64_t at,
                               std::int64_t width) const {
  const std::int64_t batch = context_.layout.micro_batch_size;
  const std::int64_t block = context_.positions * (2 * key_width_ + mla_.v_head_dim);
  const Tensor by_head = context_.tensor(rows.count());
  context_.compute.to_heads(rows.data(), by_head.data(), context_.positions, batch, heads_, 1,
                            width);
  context_.compute.copy_rows(heads.data() + context_.positions * at, block, by_head.data(),
                             context_.positions * width, heads_ * batch,
                             context_.positions * width);
}

Tensor MultiLatentAttention::take(const Tensor& heads, std::int64_t at, std::int64_t width) const {
  const std::int64_t batch = context_.layout.micro_batch_size;
  const std::int64_t block = context_.positions * (2 * key_width_ + mla_.v_head_dim);
  Tensor rows = context_.tensor(context_.rows() * heads_ * width);
  const Tensor by_head = context_.tensor(rows.count());
  context_.compute.copy_rows(by_head.data(), context_.positions * width,
                             heads.data() + context_.positions * at, block, heads_ * batch,
                             context_.positions * width);
  context_.compute.from_heads(by_head.data(), rows.data(), context_.positions, batch, heads_, 1,
                              width);
  return rows;
}

Tensor MultiLatentAttention::heads_of(const Tensor& query, const Tensor& key_value,
                                      const Tensor& rotary_key) const {
  Compute& compute = context_.compute;
  const std::int64_t rows = context_.rows(), plain = mla_.qk_head_dim, value = mla_.v_head_dim;
  const std::int64_t turned = mla_.qk_pos_emb_head_dim;
  Tensor heads = context_.tensor(rows * heads_ * (2 * key_width_ + value));
  Tensor rotated = context_.tensor(query.count());
  compute.copy(rotated.data(), query.data(), query.size());
  rotate(rotated, heads_, key_width_, false);
  put(heads, std::move(rotated), 0, key_width_);
  Tensor shared = context_.tensor(rotary_key.count());
  compute.copy(shared.data(), rotary_key.data(), rotary_key.size());
  rotate(shared, 1, turned, false);
  Tensor keys = context_.tensor(rows * heads_ * key_width_);
  compute.copy_rows(keys.data(), key_width_, key_value.data(), plain + value, rows * heads_, plain);
  for (std::int64_t head = 0; head < heads_; ++head) {
    compute.copy_rows(keys.data() + head * key_width_ + plain, heads_ * key_width_, shared.data(),
                      turned, rows, turned);
  }
  put(heads, std::move(keys), key_width_, key_width_);
  Tensor values = context_.tensor(rows * heads_ * value);
  compute.copy_rows(values.data(), value, key_value.data() + plain, plain + value, rows * heads_,
                    value);
  put(heads, std::move(values), 2 * key_width_, value);
  return heads;
}

void MultiLatentAttention::split_heads(const Tensor& dheads, const Tensor& dquery,
                                       const Tensor& dkey_value, const Tensor& drotary_key) const {
  Compute& compute = context_.compute;
  const std::int64_t rows = context_.rows(), plain = mla_.qk_head_dim, value = mla_.v_head_dim;
  const std::int64_t turned = mla_.qk_pos_emb_head_dim;
  const Tensor queries = take(dheads, 0, key_width_);
  compute.copy(dquery.data(), queries.data(), queries.size());
  rotate(dquery, heads_, key_width_, true);
  const Tensor keys = take(dheads, key_width_, key_width_);
  compute.copy_rows(dkey_value.data(), plain + value, keys.data(), key_width_, rows * heads_,
                    plain);
  const Tensor of_head = context_.tensor(drotary_key.count());
  compute.fill_zero(drotary_key.data(), drotary_key.size());
  for (std::int64_t head = 0; head < heads_; ++head) {
    compute.copy_rows(of_head.data(), turned, keys.data() + head * key_width_ + plain,
                      heads_ * key_width_, rows, turned);
    compute.add(drotary_key.data(), of_head.data(), drotary_key.data(), of_head.count());
  }
  rotate(drotary_key, 1, turned, true);
  const Tensor values = take(dheads, 2 * key_width_, value);
  compute.copy_rows(dkey_value.data() + plain, plain + value, values.data(), value, rows * heads_,
                    value);
}

void MultiLatentAttention::up(const Tensor& x, MultiLatentSaved& saved, Phase phase) const {
  const bool again = context_.recomputes(kRecomputeMlaUpProjection);
  Tensor query;
  if (query_norm_) {
    saved.query_normed = query_norm_->forward(saved.query_latent, saved.query_norm);
    query = query_up_.forward(saved.query_normed, phase);
  } else if (saved.query.empty()) {
    query = query_up_.forward(x, phase);
  } else {
    query = std::move(saved.query);
  }
  const std::int64_t rows = context_.local_rows(), rank = mla_.kv_lora_rank;
  Tensor compressed = context_.tensor(rows * rank);
  context_.compute.copy_rows(compressed.data(), rank, saved.key_value_latent.data(),
                             rank + mla_.qk_pos_emb_head_dim, rows, rank);
  saved.key_value_normed = key_value_norm_.forward(compressed, saved.key_value_norm);
  compressed.release();
  const Tensor key_value = key_value_up_.forward(saved.key_value_normed, phase);
  saved.heads = heads_of(query, key_value, saved.rotary_key);
  if (again && !query_norm_) saved.query = std::move(query);
}

Tensor MultiLatentAttention::forward(const Tensor& x, MultiLatentSaved& saved, Phase phase) const {
  if (query_down_ != nullptr) saved.query_latent = down(x, *query_down_);
  saved.key_value_latent = down(x, key_value_down_);
  saved.rotary_key = gathered_rotary_key(saved.key_value_latent, phase);
  up(x, saved, phase);
  const Tensor out = core_.forward(saved.heads, saved.core, phase);
  saved.merged = context_.tensor(out.count());
  context_.compute.from_heads(out.data(), saved.merged.data(), context_.positions,
                              context_.layout.micro_batch_size, heads_, 1, mla_.v_head_dim);
  const bool core_again = context_.recomputes(kRecomputeCoreAttention);
  if (core_again) saved.core = {};
  if (core_.exchanges_heads() && !core_again) saved.heads.release();
  if (context_.recomputes(kRecomputeMlaUpProjection)) {
    saved.query_normed.release();
    saved.key_value_normed.release();
    saved.heads.release();
  }
  return projection_.forward(saved.merged, phase);
}

Tensor MultiLatentAttention::query_backward(const Tensor& dquery, const Tensor& x,
                                            MultiLatentSaved& saved) const {
  if (!query_norm_) return query_up_.backward(dquery, x);
  Tensor dlatent = query_norm_->backward(query_up_.backward(dquery, saved.query_normed),
                                         saved.query_latent, saved.query_norm);
  Tensor dx = context_.tensor(x.count());
  context_.compute.fill_zero(dx.data(), dx.size());
  down_backward(dlatent, x, *query_down_, dx);
  return dx;
}

void MultiLatentAttention::key_value_backward(const Tensor& dkey_value, Tensor drotary_key,
                                              const Tensor& x, MultiLatentSaved& saved,
                                              const Tensor& dx) const {
  const std::int64_t rows = context_.local_rows(), rank = mla_.kv_lora_rank;
  const std::int64_t turned = mla_.qk_pos_emb_head_dim;
  Tensor dnormed = key_value_up_.backward(dkey_value, saved.key_value_normed);
  const Tensor compressed = context_.tensor(rows * rank);
  context_.compute.copy_rows(compressed.data(), rank, saved.key_value_latent.data(), rank + turned,
                             rows, rank);
  const Tensor dcompressed =
      key_value_norm_.backward(std::move(dnormed), compressed, saved.key_value_norm);
  const Tensor drotary = reduce_sequence(
      context_, std::move(drotary_key), turned,
      context_.layout.sequence_parallel ? kRotaryKeyGradientScatter : kRotaryKeyGradientAllReduce,
      Phase::backward);
  const Tensor dlatent = context_.tensor(rows * (rank + turned));
  context_.compute.copy_rows(dlatent.data(), rank + turned, dcompressed.data(), rank, rows, rank);
  context_.compute.copy_rows(dlatent.data() + rank, rank + turned, drotary.data(), turned, rows,
                             turned);
  down_backward(dlatent, x, key_value_down_, dx);
}

Tensor MultiLatentAttention::backward(const Tensor& dy, const Tensor& x,
                                      MultiLatentSaved& saved) const {
  if (saved.key_value_normed.empty()) {
    const TermScope scope(context_.recorder, TermKind::recompute);
    up(x, saved, Phase::recompute);
  }
  if (saved.core.probabilities.empty()) {
    const TermScope scope(context_.recorder, TermKind::recompute);
    core_.forward(saved.heads, saved.core, Phase::recompute).release();
  }
  Tensor dmerged = projection_.backward(dy, saved.merged);
  Tensor dout = context_.tensor(dmerged.count());
  context_.compute.to_heads(dmerged.data(), dout.data(), context_.positions,
                            context_.layout.micro_batch_size, heads_, 1, mla_.v_head_dim);
  dmerged.release();
  Tensor dheads = core_.backward(dout, saved.heads, saved.core);
  dout.release();
  saved.core = {};
  saved.heads.release();
  const std::int64_t rows = context_.rows();
  const Tensor dquery = context_.tensor(rows * heads_ * key_width_);
  const Tensor dkey_value = context_.tensor(rows * heads_ * (mla_.qk_head_dim + mla_.v_head_dim));
  Tensor drotary_key = context_.tensor(rows * mla_.qk_pos_emb_head_dim);
  split_heads(dheads, dquery, dkey_value, drotary_key);
  dheads.release();
  Tensor dx = query_backward(dquery, x, saved);
  key_value_backward(dkey_value, std::move(drotary_key), x, saved, dx);
  return dx;
}

}  // namespace meshwright::calibrate
