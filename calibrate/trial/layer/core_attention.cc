// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/core_attention.h"

#include <cmath>
#include <utility>

#include "calibrate/trial/layer/product.h"

namespace meshwright::calibrate {
float score_scale(std::int64_t width) { return 1.0F / std::sqrt(static_cast<float>(width)); }

CoreAttention::CoreAttention(const TrialContext& context, const HeadShape& shape,
                             std::int64_t window, const Parameter* sinks)
    : context_(context), shape_(shape), window_(window), sinks_(sinks) {
  if (context.layout.context_parallel_size > 1) exchange_.emplace(context, shape);
}

bool CoreAttention::exchanges_heads() const {
  return exchange_ && context_.layout.cp_comm_type == ContextParallelAlgorithm::a2a;
}

// Exchanged heads are dealt out by groups, in rank order (context_exchange.cc).
std::int64_t CoreAttention::first_sink() const {
  if (!exchanges_heads()) return 0;
  const CountedGroup& group = context_.groups.context;
  return group.rank() * (shape_.groups / group.size()) * shape_.queries;
}

AttentionSinks CoreAttention::sinks() const {
  if (sinks_ == nullptr) return {};
  return {sinks_->weight + first_sink(), context_.layout.micro_batch_size, shape_.queries};
}

CoreAttention::View CoreAttention::square(const Tensor& heads) const {
  const int ranks = exchanges_heads() ? context_.layout.context_parallel_size : 1;
  const std::int64_t positions = context_.positions * ranks;
  const std::int64_t blocks = shape_.groups * context_.layout.micro_batch_size / ranks;
  const std::int64_t stride = positions * shape_.width();
  return {blocks,
          positions,
          positions,
          heads.data(),
          heads.data() + positions * shape_.keys_at(),
          heads.data() + positions * shape_.values_at(),
          stride,
          stride,
          stride};
}

CoreAttention::View CoreAttention::against(const Tensor& heads, const Tensor& keys) const {
  View v = square(heads);
  v.key_positions = context_.positions * context_.layout.context_parallel_size;
  v.keys = keys.data();
  v.values = keys.data() + v.key_positions * shape_.key_width;
  v.key_stride = v.value_stride = v.key_positions * (shape_.key_width + shape_.value_width);
  return v;
}

Tensor CoreAttention::probabilities(const View& v) const {
  Tensor scores = context_.tensor(v.blocks * rows(v) * v.key_positions);
  GemmCall call = product(rows(v), v.key_positions, shape_.key_width, v.queries, v.keys,
                          scores.data());  // q k^T
  call.batch = v.blocks;
  call.transpose_b = true;
  call.stride_a = v.query_stride;
  call.stride_b = v.key_stride;
  multiply(context_, call);
  // Queries of some of the positions stand where their two chunks do.
  const bool all = v.query_positions == v.key_positions;
  const std::int64_t first = all ? 0 : context_.position(0);
  const std::int64_t half = v.query_positions / 2;
  const std::int64_t jump = all ? 0 : context_.position(half) - first - half;
  context_.compute.causal_softmax_forward(
      scores.data(), scores.data(), score_scale(shape_.key_width), v.blocks * shape_.queries,
      v.query_positions, v.key_positions, first, window_, jump, sinks());
  return scores;
}

Tensor CoreAttention::context(const View& v, const Tensor& probabilities) const {
  Tensor out = context_.tensor(v.blocks * rows(v) * shape_.value_width);
  GemmCall call = product(rows(v), shape_.value_width, v.key_positions, probabilities.data(),
                          v.values, out.data());
  call.batch = v.blocks;
  call.stride_b = v.value_stride;
  multiply(context_, call);
  return out;
}

Tensor CoreAttention::forward(const Tensor& heads, CoreSaved& saved, Phase phase) const {
  Tensor keys;
  View v = square(heads);
  if (exchanges_heads()) {
    saved.heads = exchange_->to_all_positions(heads, phase);
    v = square(saved.heads);
  } else if (exchange_) {
    keys = exchange_->gather_keys(heads, phase);
    v = against(heads, keys);
  }
  saved.probabilities = probabilities(v);
  Tensor out = context(v, saved.probabilities);
  return exchanges_heads() ? exchange_->outputs_to_own_positions(out, phase) : std::move(out);
}

// out = P v: dP = dout v^T, dv = P^T dout. scores = q k^T: dq = dS k, dk = dS^T q. The products
// with P^T and dS^T add up over the queries of a group.
void CoreAttention::gradient(const View& v, const View& d, const Tensor& dout,
                             const Tensor& probabilities) const {
  const std::int64_t n = rows(v), keys = v.key_positions;
  const std::int64_t key_width = shape_.key_width, value_width = shape_.value_width;
  const Tensor dp = context_.tensor(probabilities.count());
  GemmCall call = product(n, keys, value_width, dout.data(), v.values, dp.data());
  call.batch = v.blocks;
  call.transpose_b = true;
  call.stride_b = v.value_stride;
  multiply(context_, call);
  call = product(keys, value_width, n, probabilities.data(), dout.data(), d.values);
  call.batch = v.blocks;
  call.transpose_a = true;
  call.stride_c = d.value_stride;
  multiply(context_, call);
  if (sinks_ != nullptr) {
    context_.compute.sinks_backward(dp.data(), probabilities.data(), sinks(),
                                    sinks_->gradient + first_sink(), v.blocks * shape_.queries,
                                    keys, v.query_positions);
  }
  context_.compute.softmax_backward(dp.data(), probabilities.data(), dp.data(),
                                    score_scale(key_width), v.blocks * shape_.queries, keys,
                                    v.query_positions);
  call = product(n, key_width, keys, dp.data(), v.keys, d.queries);
  call.batch = v.blocks;
  call.stride_b = v.key_stride;
  call.stride_c = d.query_stride;
  multiply(context_, call);
  call = product(keys, key_width, n, dp.data(), v.queries, d.keys);
  call.batch = v.blocks;
  call.transpose_a = true;
  call.stride_b = v.query_stride;
  call.stride_c = d.key_stride;
  multiply(context_, call);
}

Tensor CoreAttention::ring_backward(const Tensor& dout, const Tensor& heads,
                                    const CoreSaved& saved) const {
  const Tensor keys = exchange_->gather_keys(heads, Phase::backward);
  const Tensor dkeys = context_.tensor(keys.count());
  Tensor dheads = context_.tensor(heads.count());
  gradient(against(heads, keys), against(dheads, dkeys), dout, saved.probabilities);
  exchange_->scatter_key_gradients(dkeys, dheads);
  return dheads;
}

Tensor CoreAttention::backward(const Tensor& dout, const Tensor& heads, CoreSaved& saved) const {
  if (exchanges_heads()) {
    const Tensor dall = exchange_->outputs_to_all_positions(dout, Phase::backward);
    const Tensor dheads = context_.tensor(saved.heads.count());
    gradient(square(saved.heads), square(dheads), dall, saved.probabilities);
    return exchange_->to_own_positions(dheads, Phase::backward);
  }
  if (exchange_) return ring_backward(dout, heads, saved);
  Tensor dheads = context_.tensor(heads.count());
  gradient(square(heads), square(dheads), dout, saved.probabilities);
  return dheads;
}

}  // namespace meshwright::calibrate
