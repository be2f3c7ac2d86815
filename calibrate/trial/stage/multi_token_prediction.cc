// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/stage/multi_token_prediction.h"

#include <fmt/format.h>

#include <utility>

#include "sim/block/transfer_names.h"
#include "sim/operators/operators.h"

namespace meshwright::calibrate {
namespace {

std::string part_name(int depth, const char* part) { return fmt::format("mtp.{}.{}", depth, part); }

}  // namespace

MultiTokenPrediction::MultiTokenPrediction(const TrialContext& context, ParameterStore& store,
                                           int depth, Parameter& words)
    : context_(context),
      embedding_(context, words),
      embedding_norm_(context, store, part_name(depth, "embedding_norm")),
      hidden_norm_(context, store, part_name(depth, "hidden_norm")),
      projection_(context, store, part_name(depth, "projection"), 1, context.hidden(), false,
                  input_names(transfer_names::kMtpProjection, context.layout.sequence_parallel),
                  2 * context.hidden()),
      layer_(context, store, part_name(depth, "layer"),
             layer_kind(context.model, context.model.num_layers - 1)),
      final_norm_(context, store, part_name(depth, "final_norm")) {}

Tensor MultiTokenPrediction::forward(const Tensor& hidden, const Tensor& tokens,
                                     PredictionSaved& saved) const {
  saved.embedded = embedding_.forward(tokens);
  round_between_layers(context_, saved.embedded);
  Tensor y = run(hidden, saved, Phase::forward);
  if (!mtp_is_recomputed(context_.layout)) return y;
  PredictionSaved kept;
  kept.embedded = std::move(saved.embedded);
  saved = std::move(kept);
  return y;
}

Tensor MultiTokenPrediction::run(const Tensor& hidden, PredictionSaved& saved, Phase phase) const {
  const std::int64_t h = context_.hidden(), rows = context_.local_rows();
  saved.joined = context_.tensor(rows * 2 * h);
  {
    const Tensor left = embedding_norm_.forward(saved.embedded, saved.embedding_norm);
    context_.compute.copy_rows(saved.joined.data(), 2 * h, left.data(), h, rows, h);
  }
  {
    const Tensor right = hidden_norm_.forward(hidden, saved.hidden_norm);
    context_.compute.copy_rows(saved.joined.data() + h, 2 * h, right.data(), h, rows, h);
  }
  Tensor x = gathered_columns(projection_.forward(saved.joined, phase), phase);
  round_between_layers(context_, x);
  saved.output = layer_.forward(std::move(x), saved.layer, phase);
  round_between_layers(context_, saved.output);
  return final_norm_.forward(saved.output, saved.final_norm);
}

Tensor MultiTokenPrediction::gathered_columns(Tensor own, Phase phase) const {
  CountedGroup& group = context_.groups.tensor;
  if (group.size() == 1) return own;
  const std::int64_t h = context_.hidden(), rows = context_.local_rows(), cols = h / group.size();
  const Tensor all = context_.tensor(context_.rows() * h);
  group.all_gather(transfer_names::kMtpProjectionOutputGather, phase, own.data(), all.data(),
                   own.count());
  const std::int64_t first = context_.layout.sequence_parallel ? rows * group.rank() : 0;
  Tensor y = context_.tensor(rows * h);
  for (int rank = 0; rank < group.size(); ++rank) {
    context_.compute.copy_rows(y.data() + rank * cols, h,
                               all.data() + rank * own.count() + first * cols, cols, rows, cols);
  }
  return y;
}

Tensor MultiTokenPrediction::own_columns(Tensor dy) const {
  const CountedGroup& group = context_.groups.tensor;
  if (group.size() == 1) return dy;
  const std::int64_t h = context_.hidden(), rows = context_.rows(), cols = h / group.size();
  const WholeSequence whole(context_, dy.data(), h,
                            transfer_names::kMtpProjectionOutputGradientGather, Phase::backward);
  Tensor own = context_.tensor(rows * cols);
  context_.compute.copy_rows(own.data(), cols, whole.data() + group.rank() * cols, h, rows, cols);
  return own;
}

Tensor MultiTokenPrediction::backward(Tensor dy, const Tensor& hidden, const Tensor& tokens,
                                      PredictionSaved& saved) const {
  if (mtp_is_recomputed(context_.layout)) {
    const TermScope scope(context_.recorder, TermKind::recompute);
    run(hidden, saved, Phase::recompute).release();
  }
  const std::int64_t h = context_.hidden(), rows = context_.local_rows();
  Tensor d = final_norm_.backward(std::move(dy), saved.output, saved.final_norm);
  saved.output.release();
  d = layer_.backward(std::move(d), saved.layer);
  round_between_layers(context_, d);
  saved.layer = {};
  const Tensor both = projection_.backward(own_columns(std::move(d)), saved.joined);
  saved.joined.release();
  Tensor half = context_.tensor(rows * h);
  context_.compute.copy_rows(half.data(), h, both.data(), 2 * h, rows, h);
  const Tensor dembedded =
      embedding_norm_.backward(std::move(half), saved.embedded, saved.embedding_norm);
  round_between_layers(context_, dembedded);
  embedding_.backward(dembedded, tokens);
  half = context_.tensor(rows * h);
  context_.compute.copy_rows(half.data(), h, both.data() + h, 2 * h, rows, h);
  return hidden_norm_.backward(std::move(half), hidden, saved.hidden_norm);
}

}  // namespace meshwright::calibrate
