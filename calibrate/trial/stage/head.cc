// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/stage/head.h"

#include <utility>

#include "calibrate/trial/layer/product.h"
#include "calibrate/trial/stage/embedding.h"
#include "sim/block/transfer_names.h"

namespace meshwright::calibrate {
LanguageModelHead::LanguageModelHead(const TrialContext& context, ParameterStore& store,
                                     Parameter* words)
    : context_(context),
      words_(context.model.tied_embeddings && words != nullptr
                 ? *words
                 : store.add(vocabulary_slice(
                       context, context.model.tied_embeddings ? "embedding.words" : "head"))) {}

void LanguageModelHead::logits(const float* x, float* out) const {
  MixedGemmCall call =
      product(context_.rows(), words_.local_rows, context_.hidden(), x, words_.operand(), out);
  call.transpose_b = true;
  multiply(context_, call);
}

Tensor LanguageModelHead::gathered_logits(const Tensor& x) const {
  Tensor own = context_.tensor(context_.rows() * words_.local_rows);
  logits(x.data(), own.data());
  CountedGroup& group = context_.groups.tensor;
  if (group.size() == 1) return own;
  Tensor all = context_.tensor(own.count() * group.size());
  group.all_gather(transfer_names::kLogitsAllGather, Phase::forward, own.data(), all.data(),
                   own.count());
  return all;
}

void LanguageModelHead::forward(const Tensor& x, const Tensor& targets, LossSum loss,
                                HeadSaved& saved) const {
  Compute& compute = context_.compute;
  const std::int64_t rows = context_.rows();
  const std::int64_t vocab = words_.local_rows;
  CountedGroup& group = context_.groups.tensor;
  saved.probabilities = context_.tensor(rows * vocab);
  {
    const WholeSequence whole(context_, x.data(), context_.hidden(),
                              transfer_names::kLogitsInputAllGather, Phase::forward);
    logits(whole.data(), saved.probabilities.data());
  }
  const Tensor maximum = context_.tensor(rows);
  const Tensor target = context_.tensor(rows);
  saved.sum_exp = context_.tensor(rows);
  compute.row_max(saved.probabilities.data(), maximum.data(), rows, vocab);
  group.all_reduce(transfer_names::kCrossEntropyAllReduce, Phase::forward, maximum.data(), rows,
                   Reduction::max);
  compute.exp_and_target(saved.probabilities.data(), maximum.data(), targets.integers(),
                         saved.sum_exp.data(), target.data(), rows, vocab, words_.first_row);
  group.all_reduce(transfer_names::kCrossEntropyAllReduce, Phase::forward, target.data(), rows);
  group.all_reduce(transfer_names::kCrossEntropyAllReduce, Phase::forward, saved.sum_exp.data(),
                   rows);
  compute.add_cross_entropy(saved.sum_exp.data(), target.data(), loss.sum,
                            loss.share / static_cast<float>(rows), rows);
}

Tensor LanguageModelHead::backward(const Tensor& x, const Tensor& targets, float weight,
                                   HeadSaved& saved) const {
  const std::int64_t rows = context_.rows();
  const std::int64_t vocab = words_.local_rows;
  const std::int64_t h = context_.hidden();
  context_.compute.cross_entropy_backward(saved.probabilities.data(), saved.sum_exp.data(),
                                          targets.integers(), weight / static_cast<float>(rows),
                                          rows, vocab, words_.first_row);
  const float* dlogits = saved.probabilities.data();
  Tensor partial = context_.tensor(rows * h);
  multiply(context_, product(rows, h, vocab, dlogits, words_.operand(), partial.data()));
  Tensor dx = reduce_sequence(context_, std::move(partial), h,
                              context_.layout.sequence_parallel
                                  ? transfer_names::kLogitsGradientReduceScatter
                                  : transfer_names::kLogitsGradientAllReduce,
                              Phase::backward);
  MixedGemmCall dwords = product(vocab, h, rows, dlogits, x.data(), words_.gradient);
  dwords.transpose_a = true;
  dwords.beta = 1.0F;
  multiply_for_weight(context_, dwords,
                      {SequencePiece::Operand::b, h, transfer_names::kLogitsInputAllGatherAgain});
  return dx;
}

MeanSquareHead::MeanSquareHead(const TrialContext& context)
    : context_(context), one_(context.tensor(1)) {
  const float one = 1.0F;
  context.compute.upload(one_.data(), &one, sizeof one);
  context.compute.synchronize();
}

void MeanSquareHead::forward(Tensor x, const Tensor& minus_targets, float* loss,
                             HeadSaved& saved) const {
  const std::int64_t count = x.count();
  saved.difference = std::move(x);
  const float* own = minus_targets.data() +
                     (context_.layout.sequence_parallel ? count * context_.groups.at.tensor : 0);
  context_.compute.add(saved.difference.data(), own, saved.difference.data(),
                       count);  // the difference
  const Tensor sum = context_.tensor(1);
  MixedGemmCall dot =
      product(1, 1, count, saved.difference.data(), saved.difference.data(), sum.data());
  dot.precision = Precision::fp32;
  dot.alpha = 1.0F / static_cast<float>(context_.rows() * context_.hidden());
  context_.compute.gemm(dot);
  if (context_.layout.sequence_parallel) {
    context_.groups.tensor.all_reduce(kMeanSquareAllReduce, Phase::forward, sum.data(), 1);
  }
  context_.compute.add(loss, sum.data(), loss, 1);
}

Tensor MeanSquareHead::backward(float weight, HeadSaved& saved) const {
  const std::int64_t count = saved.difference.count();
  Tensor dx = context_.tensor(count);
  MixedGemmCall scaled = product(count, 1, 1, saved.difference.data(), one_.data(), dx.data());
  scaled.precision = Precision::fp32;
  scaled.alpha = 2.0F * weight / static_cast<float>(context_.rows() * context_.hidden());
  context_.compute.gemm(scaled);
  return dx;
}

}  // namespace meshwright::calibrate
