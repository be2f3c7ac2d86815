// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/paged_latent_attention.h"

#include "calibrate/trial/layer/core_attention.h"
#include "calibrate/trial/layer/product.h"
#include "calibrate/trial/serving/paged_attention.h"

namespace meshwright::calibrate {
namespace {

Parameter whole_matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
  Parameter p;
  p.name = name;
  p.rows = p.local_rows = rows;
  p.cols = p.local_cols = cols;
  return p;
}

struct LatentPass {
  const TrialContext& context;
  const LatentHeads& shape;
  const PagedCache& cache;
  std::size_t layer;

  // By heads: of each its columns of the up projection.
  [[nodiscard]] Tensor up_columns(std::int64_t at, std::int64_t cols) const {
    const auto [heads, rank, plain, turned, value, window, key_value_up] = shape;
    const std::int64_t of_head = plain + value;
    Tensor own = context.tensor(heads * rank * cols);
    for (std::int64_t head = 0; head < heads; ++head) {
      context.compute.copy_rows(own.data() + head * rank * cols, cols,
                                key_value_up + head * of_head + at, heads * of_head, rank, cols);
    }
    return own;
  }

  // scores = (q_nope W_uk) latents^T + q_rope keys^T; out = (softmax(scores) latents) W_uv.
  void attend(const Tensor& query, const SequenceRows& sequence, const Tensor& out) const {
    Compute& compute = context.compute;
    const auto [heads, rank, plain, turned, value, window, key_value_up] = shape;
    const std::int64_t t = sequence.rows, rows = heads * t;
    const std::int64_t count = paged_keys(sequence.seen()), key_width = shape.key_width();
    const Tensor plain_query = context.tensor(rows * plain);
    const Tensor turned_query = context.tensor(rows * turned);
    const std::int64_t of_row = heads * key_width;
    for (std::int64_t head = 0; head < heads; ++head) {
      const float* from = query.data() + sequence.first_row * of_row + head * key_width;
      compute.copy_rows(plain_query.data() + head * t * plain, plain, from, of_row, t, plain);
      compute.copy_rows(turned_query.data() + head * t * turned, turned, from + plain, of_row, t,
                        turned);
    }
    const Tensor key_up = up_columns(0, plain);
    const Tensor absorbed = context.tensor(rows * rank);
    MixedGemmCall call =
        product(t, rank, plain, plain_query.data(), key_up.data(), absorbed.data());
    call.batch = heads;
    call.transpose_b = true;
    multiply(context, call);

    const Tensor latents = cache.keys(layer, sequence, count);
    const Tensor rotary_keys = cache.values(layer, sequence, count);
    const Tensor scores = context.tensor(rows * count);
    call = product(rows, count, rank, absorbed.data(), latents.data(), scores.data());
    call.transpose_b = true;
    multiply(context, call);
    call = product(rows, count, turned, turned_query.data(), rotary_keys.data(), scores.data());
    call.transpose_b = true;
    call.beta = 1.0F;
    multiply(context, call);
    compute.causal_softmax_forward(scores.data(), scores.data(), score_scale(key_width), heads, t,
                                   count, sequence.cached, window);

    const Tensor of_latents = context.tensor(rows * rank);
    multiply(context, product(rows, rank, count, scores.data(), latents.data(), of_latents.data()));
    const Tensor value_up = up_columns(plain, value);
    const Tensor result = context.tensor(rows * value);
    call = product(t, value, rank, of_latents.data(), value_up.data(), result.data());
    call.batch = heads;
    multiply(context, call);
    compute.copy_rows(out.data() + sequence.first_row * value, context.rows() * value,
                      result.data(), t * value, heads, t * value);
  }
};

}  // namespace

Tensor attend_latents(const TrialContext& context, const LatentHeads& shape, const LatentRows& rows,
                      const std::vector<SequenceRows>& sequences, const PagedCache& cache,
                      std::size_t layer) {
  const LatentPass pass{context, shape, cache, layer};
  const Tensor out = context.tensor(context.rows() * shape.heads * shape.value);
  for (const SequenceRows& sequence : sequences) {
    // One group: no stride.
    cache.store(layer, sequence, rows.latent.data(), rows.rotary_key.data(), 0);
    pass.attend(rows.query, sequence, out);
  }
  Tensor merged = context.tensor(out.count());
  context.compute.from_heads(out.data(), merged.data(), context.rows(), 1, shape.heads, 1,
                             shape.value);
  return merged;
}

// Parameters have the names of latent_attention.cc, and so its weights.
PagedLatentAttention::PagedLatentAttention(const TrialContext& context, ParameterStore& store,
                                           const std::string& name, std::int64_t window)
    : context_(context),
      mla_(*context.model.mla),
      heads_(context.model.num_attention_heads / context.layout.tensor_parallel_size),
      key_width_(std::int64_t{mla_.qk_head_dim} + mla_.qk_pos_emb_head_dim),
      window_(window),
      query_up_(context, store, name + ".q_up", 1, query_size(context.model), false,
                input_names(transfer_names::kLatentQuery, false),
                mla_.q_lora_rank > 0 ? mla_.q_lora_rank : context.hidden()),
      key_value_down_(
          store.add(whole_matrix(name + ".kv_down.weight", context.hidden(),
                                 std::int64_t{mla_.kv_lora_rank} + mla_.qk_pos_emb_head_dim))),
      key_value_norm_(context, store, name + ".kv_norm", mla_.kv_lora_rank),
      key_value_up_(store.add([&] {
        const std::int64_t of_head = std::int64_t{mla_.qk_head_dim} + mla_.v_head_dim;
        Parameter p = whole_matrix(name + ".kv_up.weight", mla_.kv_lora_rank,
                                   context.model.num_attention_heads * of_head);
        p.local_cols = heads_ * of_head;
        p.first_col = p.local_cols * context.groups.at.tensor;
        return p;
      }())),
      projection_(context, store, name + ".projection", attention_output_size(context.model),
                  context.model.add_bias_linear, output_names(transfer_names::kAttention, false)) {
  if (mla_.q_lora_rank == 0) return;
  query_down_ =
      &store.add(whole_matrix(name + ".q_down.weight", context.hidden(), mla_.q_lora_rank));
  query_norm_.emplace(context, store, name + ".q_norm", mla_.q_lora_rank);
}

PageShape PagedLatentAttention::page_shape(int block_size) const {
  return {1, mla_.kv_lora_rank, mla_.qk_pos_emb_head_dim, block_size};
}

Tensor PagedLatentAttention::columns(const float* from, std::int64_t stride, std::int64_t rows,
                                     std::int64_t cols) const {
  Tensor own = context_.tensor(rows * cols);
  context_.compute.copy_rows(own.data(), cols, from, stride, rows, cols);
  return own;
}

void PagedLatentAttention::rotate(const Tensor& x, std::int64_t groups, std::int64_t width) const {
  if (context_.rotary_table == nullptr) return;
  Compute& compute = context_.compute;
  const std::int64_t cols = mla_.qk_pos_emb_head_dim, rows = context_.rows();
  const std::int64_t vectors = rows * groups;
  float* last = x.data() + width - cols;
  const Tensor by_row = columns(last, width, vectors, cols);
  const Tensor by_head = context_.tensor(by_row.count());
  compute.to_heads(by_row.data(), by_head.data(), rows, 1, groups, 1, cols);
  compute.rotary(by_head.data(), context_.rotary_table, groups, 1, 1, rows, cols, false);
  compute.from_heads(by_head.data(), by_row.data(), rows, 1, groups, 1, cols);
  compute.copy_rows(last, width, by_row.data(), cols, vectors, cols);
}

Tensor PagedLatentAttention::query_of(const Tensor& x) const {
  Tensor query;
  if (query_norm_) {
    const Tensor latent = context_.tensor(context_.rows() * query_down_->cols);
    forward_product(context_, context_.rows(), x.data(), *query_down_, latent.data());
    NormSaved unused;
    query = query_up_.forward(query_norm_->forward(latent, unused), Phase::forward);
  } else {
    query = query_up_.forward(x, Phase::forward);
  }
  rotate(query, heads_, key_width_);
  return query;
}

Tensor PagedLatentAttention::forward(const Tensor& x, const std::vector<SequenceRows>& sequences,
                                     const PagedCache& cache, std::size_t layer) const {
  const std::int64_t rows = context_.rows(), rank = mla_.kv_lora_rank;
  const std::int64_t turned = mla_.qk_pos_emb_head_dim;
  const Tensor query = query_of(x);
  const Tensor latent = context_.tensor(rows * (rank + turned));
  forward_product(context_, rows, x.data(), key_value_down_, latent.data());
  NormSaved unused;
  const Tensor compressed = columns(latent.data(), rank + turned, rows, rank);
  const Tensor normed = key_value_norm_.forward(compressed, unused);
  const Tensor rotary_key = columns(latent.data() + rank, rank + turned, rows, turned);
  rotate(rotary_key, 1, turned);
  const LatentHeads shape{.heads = heads_,
                          .rank = rank,
                          .plain = mla_.qk_head_dim,
                          .turned = turned,
                          .value = mla_.v_head_dim,
                          .window = window_,
                          .key_value_up = key_value_up_.weight};
  return projection_.forward(
      attend_latents(context_, shape, {query, normed, rotary_key}, sequences, cache, layer),
      Phase::forward);
}

}  // namespace meshwright::calibrate
