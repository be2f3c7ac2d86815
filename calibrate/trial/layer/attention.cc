// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/attention.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "calibrate/trial/layer/product.h"

namespace meshwright::calibrate {

const Parameter* attention_sinks(const TrialContext& context, ParameterStore& store,
                                 const std::string& name) {
  if (!context.model.attention_sinks) return nullptr;
  Parameter p;
  p.name = name + ".sinks";
  p.init = Init::bias;
  p.cols = context.model.num_attention_heads;
  p.local_cols = p.cols / context.layout.tensor_parallel_size;
  p.first_col = context.groups.tensor.rank() * p.local_cols;
  return &store.add(p);
}

Attention::Attention(const TrialContext& context, ParameterStore& store, const std::string& name,
                     std::int64_t window)
    : context_(context),
      qkv_(context, store, name + ".qkv"),
      core_(context, {qkv_.groups(), qkv_.queries_of_group(), qkv_.width(), qkv_.width()}, window,
            attention_sinks(context, store, name)),
      projection_(context, store, name + ".projection", query_size(context.model),
                  context.model.add_bias_linear,
                  output_names(transfer_names::kAttention, context.layout.sequence_parallel)) {}

float* Attention::keys(const Tensor& heads) const {
  return heads.data() + qkv_.queries_of_group() * qkv_.head_size();
}

float* Attention::values(const Tensor& heads) const { return keys(heads) + qkv_.head_size(); }

std::int64_t Attention::query_rows() const { return qkv_.queries_of_group() * context_.positions; }

void Attention::multiply_blocks(MixedGemmCall call) const {
  call.batch = qkv_.blocks();
  multiply(context_, call);
}

Tensor Attention::merged(const Tensor& by_heads) const {
  Tensor out = context_.tensor(by_heads.count());
  context_.compute.from_heads(by_heads.data(), out.data(), context_.positions,
                              context_.layout.micro_batch_size, qkv_.groups(),
                              qkv_.queries_of_group(), qkv_.width());
  return out;
}

Tensor Attention::forward(const Tensor& x, AttentionSaved& saved, Phase phase) const {
  saved.heads = qkv_.forward(x, saved.norms, phase);
  saved.merged = merged(core_.forward(saved.heads, saved.core, phase));
  if (context_.recomputes(kRecomputeCoreAttention)) {
    saved.core = {};
  } else if (core_.exchanges_heads()) {
    saved.heads.release();
  }
  return projection_.forward(saved.merged, phase);
}

Tensor Attention::backward(const Tensor& dy, const Tensor& x, AttentionSaved& saved) const {
  if (saved.core.probabilities.empty()) {
    const TermScope scope(context_.recorder, TermKind::recompute);
    // Megatron runs all of core attention.
    core_.forward(saved.heads, saved.core, Phase::recompute).release();
  }
  Tensor dmerged = projection_.backward(dy, saved.merged);
  const Tensor dout = context_.tensor(dmerged.count());
  context_.compute.to_heads(dmerged.data(), dout.data(), context_.positions,
                            context_.layout.micro_batch_size, qkv_.groups(),
                            qkv_.queries_of_group(), qkv_.width());
  dmerged.release();
  return qkv_.backward(core_.backward(dout, saved.heads, saved.core), x, saved.norms);
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
  MixedGemmCall call =
      product(rows, count, qkv_.width(), heads.data(), cache.keys.data(), scores.data());
  call.transpose_b = true;
  call.stride_a = qkv_.block_size();
  call.stride_b = cache.capacity * qkv_.width();
  multiply_blocks(call);
  context_.compute.causal_softmax_forward(scores.data(), scores.data(), score_scale(qkv_.width()),
                                          qkv_.blocks() * qkv_.queries_of_group(),
                                          context_.positions, count, context_.first_position,
                                          core_.window(), 0, core_.sinks());
  Tensor out = context_.tensor(qkv_.blocks() * rows * qkv_.width());
  call = product(rows, qkv_.width(), count, scores.data(), cache.values.data(), out.data());
  call.stride_b = cache.capacity * qkv_.width();
  multiply_blocks(call);
  return out;
}

Tensor Attention::forward_cached(const Tensor& x, KeyValueCache& cache) const {
  HeadNormsSaved norms;  // given back at the end
  const Tensor heads = qkv_.forward(x, norms, Phase::forward);
  store(heads, cache);
  return projection_.forward(merged(attend(heads, cache)), Phase::forward);
}

}  // namespace meshwright::calibrate
