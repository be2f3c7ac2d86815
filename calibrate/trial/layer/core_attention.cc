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

CoreAttention::View CoreAttention::square(Numbers heads) const {
  const int ranks = exchanges_heads() ? context_.layout.context_parallel_size : 1;
  const std::int64_t positions = context_.positions * ranks;
  const std::int64_t blocks = shape_.groups * context_.layout.micro_batch_size / ranks;
  const std::int64_t stride = positions * shape_.width();
  return {blocks,
          positions,
          positions,
          heads,
          heads.from(positions * shape_.keys_at()),
          heads.from(positions * shape_.values_at()),
          stride,
          stride,
          stride};
}

CoreAttention::View CoreAttention::against(Numbers heads, Numbers keys) const {
  View v = square(heads);
  v.key_positions = context_.positions * context_.layout.context_parallel_size;
  v.keys = keys;
  v.values = keys.from(v.key_positions * shape_.key_width);
  v.key_stride = v.value_stride = v.key_positions * (shape_.key_width + shape_.value_width);
  return v;
}

Tensor CoreAttention::probabilities(const View& v) const {
  Tensor scores = context_.tensor(v.blocks * rows(v) * v.key_positions);
  MixedGemmCall call = product(rows(v), v.key_positions, shape_.key_width, v.queries, v.keys,
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
  Tensor narrow;  // in place where products read fp32
  if (context_.operand_format() != Precision::fp32) narrow = context_.operand(scores.count());
  context_.compute.causal_softmax_forward(
      scores.data(), operand_of(scores, narrow), score_scale(shape_.key_width),
      v.blocks * shape_.queries, v.query_positions, v.key_positions, first, window_, jump, sinks());
  return narrow.empty() ? std::move(scores) : std::move(narrow);
}

Tensor CoreAttention::context(const View& v, const Tensor& probabilities) const {
  Tensor out = context_.tensor(v.blocks * rows(v) * shape_.value_width);
  MixedGemmCall call = product(rows(v), shape_.value_width, v.key_positions,
                               probabilities.numbers(), v.values, out.data());
  call.batch = v.blocks;
  call.stride_b = v.value_stride;
  multiply(context_, call);
  return out;
}

Tensor CoreAttention::forward(const Tensor& heads, CoreSaved& saved, Phase phase) const {
  if (exchanges_heads()) saved.heads = exchange_->to_all_positions(heads, phase);
  const Tensor& own = exchanges_heads() ? saved.heads : heads;
  const Tensor copy = operand_copy(context_, own);
  View v = square(operand_of(own, copy));
  Tensor keys, keys_copy;
  if (exchange_ && !exchanges_heads()) {
    keys = exchange_->gather_keys(heads, phase);
    keys_copy = operand_copy(context_, keys);
    v = against(operand_of(own, copy), operand_of(keys, keys_copy));
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
  const Tensor dout_copy = operand_copy(context_, dout);
  const Numbers gradient_of_out = operand_of(dout, dout_copy);
  const auto result = [](Numbers to) { return static_cast<float*>(to.data); };
  const Tensor dp = context_.tensor(probabilities.count());
  MixedGemmCall call = product(n, keys, value_width, gradient_of_out, v.values, dp.data());
  call.batch = v.blocks;
  call.transpose_b = true;
  call.stride_b = v.value_stride;
  multiply(context_, call);
  call = product(keys, value_width, n, probabilities.numbers(), gradient_of_out, result(d.values));
  call.batch = v.blocks;
  call.transpose_a = true;
  call.stride_c = d.value_stride;
  multiply(context_, call);
  if (sinks_ != nullptr) {
    context_.compute.sinks_backward(dp.data(), probabilities.numbers(), sinks(),
                                    sinks_->gradient + first_sink(), v.blocks * shape_.queries,
                                    keys, v.query_positions);
  }
  Tensor narrow;
  if (context_.operand_format() != Precision::fp32) narrow = context_.operand(dp.count());
  const Numbers dscores = operand_of(dp, narrow);
  context_.compute.softmax_backward(dp.data(), probabilities.numbers(), dscores,
                                    score_scale(key_width), v.blocks * shape_.queries, keys,
                                    v.query_positions);
  call = product(n, key_width, keys, dscores, v.keys, result(d.queries));
  call.batch = v.blocks;
  call.stride_b = v.key_stride;
  call.stride_c = d.query_stride;
  multiply(context_, call);
  call = product(keys, key_width, n, dscores, v.queries, result(d.keys));
  call.batch = v.blocks;
  call.transpose_a = true;
  call.stride_b = v.query_stride;
  call.stride_c = d.key_stride;
  multiply(context_, call);
}

Tensor CoreAttention::ring_backward(const Tensor& dout, const Tensor& heads,
                                    const CoreSaved& saved) const {
  const Tensor keys = exchange_->gather_keys(heads, Phase::backward);
  const Tensor copy = operand_copy(context_, heads), keys_copy = operand_copy(context_, keys);
  const Tensor dkeys = context_.tensor(keys.count());
  Tensor dheads = context_.tensor(heads.count());
  gradient(against(operand_of(heads, copy), operand_of(keys, keys_copy)),
           against(dheads.numbers(), dkeys.numbers()), dout, saved.probabilities);
  exchange_->scatter_key_gradients(dkeys, dheads);
  return dheads;
}

Tensor CoreAttention::backward(const Tensor& dout, const Tensor& heads, CoreSaved& saved) const {
  if (exchanges_heads()) {
    const Tensor dall = exchange_->outputs_to_all_positions(dout, Phase::backward);
    const Tensor copy = operand_copy(context_, saved.heads);
    const Tensor dheads = context_.tensor(saved.heads.count());
    gradient(square(operand_of(saved.heads, copy)), square(dheads.numbers()), dall,
             saved.probabilities);
    return exchange_->to_own_positions(dheads, Phase::backward);
  }
  if (exchange_) return ring_backward(dout, heads, saved);
  const Tensor copy = operand_copy(context_, heads);
  Tensor dheads = context_.tensor(heads.count());
  gradient(square(operand_of(heads, copy)), square(dheads.numbers()), dout, saved.probabilities);
  return dheads;
}

}  // namespace meshwright::calibrate
