// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/attention.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace meshwright::calibrate {
namespace {

float score_scale(std::int64_t width) { return 1.0F / std::sqrt(static_cast<float>(width)); }

}  // namespace

Attention::Attention(const TrialContext& context, ParameterStore& store, const std::string& name)
    : context_(context),
      qkv_(context, store, name + ".qkv"),
      projection_(context, store, name + ".projection", query_size(context.model),
                  context.model.add_bias_linear,
                  output_names(transfer_names::kAttention, context.layout.sequence_parallel)) {}

float* Attention::keys(const Tensor& heads) const {
  return heads.data() + qkv_.queries_of_group() * qkv_.head_size();
}

float* Attention::values(const Tensor& heads) const { return keys(heads) + qkv_.head_size(); }

std::int64_t Attention::query_rows() const { return qkv_.queries_of_group() * context_.positions; }

void Attention::multiply_blocks(GemmCall call) const {
  call.batch = qkv_.blocks();
  multiply(context_, call);
}

Tensor Attention::probabilities(const Tensor& heads) const {
  const std::int64_t keys_count = context_.positions;
  Tensor scores = context_.tensor(qkv_.blocks() * query_rows() * keys_count);
  GemmCall call = product(query_rows(), keys_count, qkv_.width(), heads.data(), keys(heads),
                          scores.data());  // q k^T
  call.transpose_b = true;
  call.stride_a = call.stride_b = qkv_.block_size();
  multiply_blocks(call);
  context_.compute.causal_softmax_forward(scores.data(), scores.data(), score_scale(qkv_.width()),
                                          qkv_.blocks() * qkv_.queries_of_group(),
                                          context_.positions, keys_count, 0);
  return scores;
}

Tensor Attention::context(const Tensor& heads, const Tensor& probabilities) const {
  Tensor out = context_.tensor(qkv_.blocks() * query_rows() * qkv_.width());
  GemmCall call = product(query_rows(), qkv_.width(), context_.positions, probabilities.data(),
                          values(heads), out.data());
  call.stride_b = qkv_.block_size();
  multiply_blocks(call);
  return out;
}

Tensor Attention::merged(const Tensor& by_heads) const {
  Tensor out = context_.tensor(by_heads.count());
  context_.compute.from_heads(by_heads.data(), out.data(), context_.positions,
                              context_.layout.micro_batch_size, qkv_.groups(),
                              qkv_.queries_of_group(), qkv_.width());
  return out;
}

Tensor Attention::forward(const Tensor& x, AttentionSaved& saved, Phase phase) const {
  saved.heads = qkv_.forward(x, phase);
  Tensor p = probabilities(saved.heads);
  saved.merged = merged(context(saved.heads, p));
  if (!context_.recomputes(kRecomputeCoreAttention)) saved.probabilities = std::move(p);
  return projection_.forward(saved.merged, phase);
}

// out = P v: dP = dout v^T, dv = P^T dout. scores = q k^T: dq = dS k, dk = dS^T q. The products
// with P^T and dS^T add up over the queries of a group.
Tensor Attention::heads_gradient(const Tensor& dout, const AttentionSaved& saved) const {
  const std::int64_t rows = query_rows(), positions = context_.positions, width = qkv_.width();
  Tensor dheads = context_.tensor(saved.heads.count());
  const Tensor dp = context_.tensor(saved.probabilities.count());
  GemmCall call = product(rows, positions, width, dout.data(), values(saved.heads), dp.data());
  call.transpose_b = true;
  call.stride_b = qkv_.block_size();
  multiply_blocks(call);
  call = product(positions, width, rows, saved.probabilities.data(), dout.data(), values(dheads));
  call.transpose_a = true;
  call.stride_c = qkv_.block_size();
  multiply_blocks(call);
  context_.compute.softmax_backward(dp.data(), saved.probabilities.data(), dp.data(),
                                    score_scale(width), qkv_.blocks() * qkv_.queries_of_group(),
                                    positions);
  call = product(rows, width, positions, dp.data(), keys(saved.heads), dheads.data());
  call.stride_b = call.stride_c = qkv_.block_size();
  multiply_blocks(call);
  call = product(positions, width, rows, dp.data(), saved.heads.data(), keys(dheads));
  call.transpose_a = true;
  call.stride_b = call.stride_c = qkv_.block_size();
  multiply_blocks(call);
  return dheads;
}

Tensor Attention::backward(const Tensor& dy, const Tensor& x, AttentionSaved& saved) const {
  if (saved.probabilities.empty()) {
    const TermScope scope(context_.recorder, TermKind::recompute);
    saved.probabilities = probabilities(saved.heads);
    context(saved.heads, saved.probabilities).release();  // Megatron runs all of core attention
  }
  Tensor dmerged = projection_.backward(dy, saved.merged);
  const Tensor dout = context_.tensor(dmerged.count());
  context_.compute.to_heads(dmerged.data(), dout.data(), context_.positions,
                            context_.layout.micro_batch_size, qkv_.groups(),
                            qkv_.queries_of_group(), qkv_.width());
  dmerged.release();
  return qkv_.backward(heads_gradient(dout, saved), x);
}

// Zeros, because the entries behind the last position are multiplied by probabilities of zero.
KeyValueCache Attention::make_cache(std::int64_t capacity) const {
  const std::int64_t count = qkv_.blocks() * capacity * qkv_.width();
  KeyValueCache cache{context_.tensor(count), context_.tensor(count), capacity};
  context_.compute.fill_zero(cache.keys.data(), cache.keys.size());
  context_.compute.fill_zero(cache.values.data(), cache.values.size());
  return cache;
}

void Attention::store(const Tensor& heads, KeyValueCache& cache) const {
  const std::int64_t first = context_.first_position * qkv_.width();
  const std::int64_t stride = cache.capacity * qkv_.width();
  context_.compute.copy_rows(cache.keys.data() + first, stride, keys(heads), qkv_.block_size(),
                             qkv_.blocks(), qkv_.head_size());
  context_.compute.copy_rows(cache.values.data() + first, stride, values(heads), qkv_.block_size(),
                             qkv_.blocks(), qkv_.head_size());
}

// Keys are taken by tens of positions: a product of one more column each time would be a new
// product each time, and libraries prepare every one.
Tensor Attention::attend(const Tensor& heads, const KeyValueCache& cache) const {
  constexpr std::int64_t kKeyBlock = 64;
  const std::int64_t seen = context_.first_position + context_.positions;
  const std::int64_t rounded = (seen + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
  const std::int64_t count = std::min(rounded, cache.capacity), rows = query_rows();
  const Tensor scores = context_.tensor(qkv_.blocks() * rows * count);
  GemmCall call =
      product(rows, count, qkv_.width(), heads.data(), cache.keys.data(), scores.data());
  call.transpose_b = true;
  call.stride_a = qkv_.block_size();
  call.stride_b = cache.capacity * qkv_.width();
  multiply_blocks(call);
  context_.compute.causal_softmax_forward(scores.data(), scores.data(), score_scale(qkv_.width()),
                                          qkv_.blocks() * qkv_.queries_of_group(),
                                          context_.positions, count, context_.first_position);
  Tensor out = context_.tensor(qkv_.blocks() * rows * qkv_.width());
  call = product(rows, qkv_.width(), count, scores.data(), cache.values.data(), out.data());
  call.stride_b = cache.capacity * qkv_.width();
  multiply_blocks(call);
  return out;
}

Tensor Attention::forward_cached(const Tensor& x, KeyValueCache& cache) const {
  const Tensor heads = qkv_.forward(x, Phase::forward);
  store(heads, cache);
  return projection_.forward(merged(attend(heads, cache)), Phase::forward);
}

}  // namespace meshwright::calibrate
