// SPDX-License-Identifier: Apache-2.0
// One depth of multi-token prediction on one tensor rank (DeepSeek-V3, arXiv 2412.19437, section
// 2.2; Megatron-LM core/transformer/multi_token_prediction.py). The hidden state of the previous
// depth and the embedding of a later token are normed and joined. They pass through a linear 2h ->
// h, a transformer layer like the model's last, and a norm.
//
// The linear's columns are split and gathered; under sequence parallelism each rank then keeps its
// rows. Full recompute keeps the hidden state and the embedding and runs all else again.
#pragma once

#include <string>

#include "calibrate/trial/layer/layer.h"
#include "calibrate/trial/layer/linear.h"
#include "calibrate/trial/layer/norm.h"
#include "calibrate/trial/stage/embedding.h"

namespace meshwright::calibrate {

struct PredictionSaved {
  Tensor embedded;
  NormSaved embedding_norm, hidden_norm;
  Tensor joined;  // the linear's input
  LayerSaved layer;
  Tensor output;  // the layer's
  NormSaved final_norm;
};

class MultiTokenPrediction {
 public:
  // depth: from 1. `words`: the embedding's matrix on this stage.
  MultiTokenPrediction(const TrialContext& context, ParameterStore& store, int depth,
                       Parameter& words);

  // hidden: local_rows x h, what the depth before puts out, and so is the result; backward reads
  // hidden again. tokens: rows() ids, `depth` ahead.
  [[nodiscard]] Tensor forward(const Tensor& hidden, const Tensor& tokens,
                               PredictionSaved& saved) const;
  // The gradient of hidden.
  [[nodiscard]] Tensor backward(Tensor dy, const Tensor& hidden, const Tensor& tokens,
                                PredictionSaved& saved) const;

 private:
  [[nodiscard]] Tensor run(const Tensor& hidden, PredictionSaved& saved, Phase phase) const;
  [[nodiscard]] Tensor gathered_columns(Tensor own, Phase phase) const;
  [[nodiscard]] Tensor own_columns(Tensor dy) const;

  const TrialContext& context_;
  Embedding embedding_;
  Norm embedding_norm_, hidden_norm_;
  ColumnParallelLinear projection_;
  Layer layer_;
  Norm final_norm_;
};

}  // namespace meshwright::calibrate
