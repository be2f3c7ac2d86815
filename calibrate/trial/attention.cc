// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/attention.h"

#include <cmath>
#include <utility>

namespace meshwright::calibrate {

Attention::Attention(const TrialContext& context, ParameterStore& store, const std::string& name)
    : context_(context),
      width_(context.model.kv_channels),
      heads_(context.model.num_attention_heads / context.layout.tensor_parallel_size),
      positions_(context.job.seq_length),
      matrices_(context.layout.micro_batch_size * heads_),
      qkv_(context, store, name + ".qkv", 3, width_ * context.model.num_attention_heads,
           context.model.add_bias_linear || context.model.add_qkv_bias,
           attention_input_names(context.layout.sequence_parallel)),
      projection_(context, store, name + ".projection", width_ * context.model.num_attention_heads,
                  context.model.add_bias_linear,
                  attention_output_names(context.layout.sequence_parallel)) {}

std::int64_t Attention::block() const { return matrices_ * positions_ * width_; }

GemmCall Attention::product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                            const float* b, float* c) const {
  GemmCall call;
  call.batch = matrices_;
  call.m = m;
  call.n = n;
  call.k = k;
  call.a = a;
  call.b = b;
  call.c = c;
  return call;
}

Tensor Attention::probabilities(const float* heads) const {
  Tensor scores = context_.tensor(matrices_ * positions_ * positions_);
  GemmCall call =
      product(positions_, positions_, width_, heads, heads + block(), scores.data());  // q k^T
  call.transpose_b = true;
  multiply(context_, call);
  const float scale = 1.0F / std::sqrt(static_cast<float>(width_));
  context_.compute.causal_softmax_forward(scores.data(), scores.data(), scale, matrices_,
                                          positions_);
  return scores;
}

Tensor Attention::context(const float* heads, const float* probabilities) const {
  Tensor out = context_.tensor(block());
  multiply(context_,
           product(positions_, width_, positions_, probabilities, heads + 2 * block(), out.data()));
  return out;
}

Tensor Attention::forward(const Tensor& x, AttentionSaved& saved, Phase phase) const {
  Compute& compute = context_.compute;
  Tensor fused = qkv_.forward(x, phase);
  if (qkv_.bias() != nullptr) {
    compute.add_bias(fused.data(), qkv_.bias()->weight, context_.rows(), qkv_.local_cols());
  }
  saved.heads = context_.tensor(fused.count());
  compute.to_heads(fused.data(), saved.heads.data(), positions_, context_.layout.micro_batch_size,
                   3, heads_, width_);
  fused.release();
  Tensor p = probabilities(saved.heads.data());
  const Tensor by_heads = context(saved.heads.data(), p.data());
  saved.merged = context_.tensor(block());
  compute.from_heads(by_heads.data(), saved.merged.data(), positions_,
                     context_.layout.micro_batch_size, 1, heads_, width_);
  if (context_.layout.recompute_granularity != RecomputeGranularity::selective) {
    saved.probabilities = std::move(p);
  }
  return projection_.forward(saved.merged, phase);
}

Tensor Attention::backward(const Tensor& dy, const Tensor& x, AttentionSaved& saved) const {
  Compute& compute = context_.compute;
  const float* q = saved.heads.data();
  const float* k = q + block();
  const float* v = k + block();
  if (saved.probabilities.empty()) {
    const TermScope scope(context_.recorder, TermKind::recompute);
    saved.probabilities = probabilities(q);
    context(q, saved.probabilities.data()).release();  // Megatron runs all of core attention again
  }
  const Tensor dmerged = projection_.backward(dy, saved.merged);
  const Tensor dout = context_.tensor(block());
  compute.to_heads(dmerged.data(), dout.data(), positions_, context_.layout.micro_batch_size, 1,
                   heads_, width_);

  const Tensor dheads = context_.tensor(3 * block());
  const Tensor dp = context_.tensor(saved.probabilities.count());
  const auto multiply_transposed = [&](GemmCall call, bool a, bool b) {
    call.transpose_a = a;
    call.transpose_b = b;
    multiply(context_, call);
  };
  // out = P v: dP = dout v^T, dv = P^T dout. scores = q k^T: dq = dS k, dk = dS^T q.
  multiply_transposed(product(positions_, positions_, width_, dout.data(), v, dp.data()), false,
                      true);
  multiply_transposed(product(positions_, width_, positions_, saved.probabilities.data(),
                              dout.data(), dheads.data() + 2 * block()),
                      true, false);
  const float scale = 1.0F / std::sqrt(static_cast<float>(width_));
  compute.softmax_backward(dp.data(), saved.probabilities.data(), dp.data(), scale, matrices_,
                           positions_);
  multiply_transposed(product(positions_, width_, positions_, dp.data(), k, dheads.data()), false,
                      false);
  multiply_transposed(
      product(positions_, width_, positions_, dp.data(), q, dheads.data() + block()), true, false);

  const Tensor dfused = context_.tensor(3 * block());
  compute.from_heads(dheads.data(), dfused.data(), positions_, context_.layout.micro_batch_size, 3,
                     heads_, width_);
  if (qkv_.bias() != nullptr) {
    compute.bias_backward(dfused.data(), qkv_.bias()->gradient, context_.rows(), qkv_.local_cols());
  }
  return qkv_.backward(dfused, x);
}

}  // namespace meshwright::calibrate
