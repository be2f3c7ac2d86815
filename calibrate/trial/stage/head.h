// SPDX-License-Identifier: Apache-2.0
// The last stage's end, behind the final norm: vocabulary-parallel logits and cross-entropy
// (Shoeybi 2019, arXiv 1909.08053, section 3), or the mean square against targets where there is no
// vocabulary.
#pragma once

#include <optional>

#include "calibrate/trial/ranks/context.h"
#include "calibrate/trial/states/parameters.h"

namespace meshwright::calibrate {

struct HeadSaved {
  Tensor difference;     // of the mean square
  Tensor probabilities;  // exp(logits - maximum) of this rank's vocabulary
  Tensor sum_exp;
};

// A sum of losses on the device, and the share that a loss has in it.
struct LossSum {
  float share;
  float* sum;
};

class LanguageModelHead {
 public:
  // `words`: the embedding's matrix on the same stage, or null. Tied embeddings on another stage
  // are a copy with the same name.
  LanguageModelHead(const TrialContext& context, ParameterStore& store, Parameter* words);

  [[nodiscard]] Parameter& words() const { return words_; }
  // x: what the final norm puts out, local_rows x hidden; backward reads it again.
  // Adds the loss of one micro-batch, a mean over its tokens; the same on every tensor rank.
  void forward(const Tensor& x, const Tensor& targets, LossSum loss, HeadSaved& saved) const;
  // The logits of x's rows on every rank: (tensor ranks, rows, vocabulary of a rank).
  [[nodiscard]] Tensor gathered_logits(const Tensor& x) const;
  // The gradient of x for a loss that is multiplied by `weight`.
  [[nodiscard]] Tensor backward(const Tensor& x, const Tensor& targets, float weight,
                                HeadSaved& saved) const;

 private:
  // x times this rank's columns.
  void logits(const float* x, float* out) const;

  const TrialContext& context_;
  Parameter& words_;
};

// mean((x - targets)^2) of one micro-batch.
class MeanSquareHead {
 public:
  explicit MeanSquareHead(const TrialContext& context);

  // minus_targets: rows() x hidden, negated, of the whole sequence. Adds to *loss, on the device.
  void forward(Tensor x, const Tensor& minus_targets, float* loss, HeadSaved& saved) const;
  [[nodiscard]] Tensor backward(float weight, HeadSaved& saved) const;

 private:
  const TrialContext& context_;
  Tensor one_;  // a 1 x 1 matrix
};

}  // namespace meshwright::calibrate
