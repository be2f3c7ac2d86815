// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/attention.h"

#include <cmath>
#include <utility>

namespace meshwright::calibrate {

Attention::Attention(const TrialContext& context, ParameterStore& store, const std::string& name)
    : context_(context),
      qkv_(context, store, name + ".qkv"),
      projection_(context, store, name + ".projection", query_size(context.model),
                  context.model.add_bias_linear,
                  attention_output_names(context.layout.sequence_parallel)) {}

float* Attention::keys(const Tensor& heads) const {
  return heads.data() + qkv_.queries_of_group() * qkv_.head_size();
}

float* Attention::values(const Tensor& heads) const { return keys(heads) + qkv_.head_size(); }

std::int64_t Attention::query_rows() const { return qkv_.queries_of_group() * context_.positions; }

void Attention::multiply_blocks(GemmCall call) const {
  call.batch = qkv_.blocks();
  multiply(context_, call);
}

namespace {

float score_scale(std::int64_t width) { return 1.0F / std::sqrt(static_cast<float>(width)); }

}  // namespace

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

Tensor Attention::forward(const Tensor& x, AttentionSaved& saved, Phase phase) const {
  saved.heads = qkv_.forward(x, phase);
  Tensor p = probabilities(saved.heads);
  const Tensor by_heads = context(saved.heads, p);
  saved.merged = context_.tensor(by_heads.count());
  context_.compute.from_heads(by_heads.data(), saved.merged.data(), context_.positions,
                              context_.layout.micro_batch_size, qkv_.groups(),
                              qkv_.queries_of_group(), qkv_.width());
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

}  // namespace meshwright::calibrate
