// SPDX-License-Identifier: Apache-2.0
// The part of the model that one pipeline stage holds, and what its micro-batches in flight keep.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "calibrate/trial/batch.h"
#include "calibrate/trial/embedding.h"
#include "calibrate/trial/head.h"
#include "calibrate/trial/layer.h"
#include "sim/layout/stages.h"

namespace meshwright::calibrate {

class StageModel {
 public:
  StageModel(const TrialContext& context, ParameterStore& store, const Chunk& chunk);

  // x: the activation from the stage before; empty on the first stage. Returns what the next stage
  // needs; empty on the last.
  [[nodiscard]] Tensor forward(int micro_batch, const MicroBatch& data, Tensor x);
  // dy: the gradient from the stage after; empty on the last. Returns the gradient for the stage
  // before; empty on the first.
  [[nodiscard]] Tensor backward(int micro_batch, const MicroBatch& data, Tensor dy);

  // Sum of the losses of the micro-batches since the last call; 0 where there is no head.
  double take_loss();
  // The embedding's matrix when another stage holds it too, else null.
  [[nodiscard]] Parameter* shared_words() const { return shared_words_; }

 private:
  struct Saved {
    std::vector<LayerSaved> layers;
    HeadSaved head;
  };

  [[nodiscard]] Tensor first_input(const MicroBatch& data) const;
  void head_forward(Tensor x, const MicroBatch& data, Saved& saved);
  [[nodiscard]] Tensor head_backward(const MicroBatch& data, Saved& saved) const;

  const TrialContext& context_;
  Chunk chunk_;
  float loss_weight_;  // a micro-batch's share in the mean over the global batch
  std::optional<Embedding> embedding_;
  std::vector<Layer> layers_;
  std::optional<LanguageModelHead> language_head_;
  std::optional<MeanSquareHead> square_head_;
  Parameter* shared_words_ = nullptr;
  std::map<int, Saved> in_flight_;
  double loss_ = 0.0;
};

}  // namespace meshwright::calibrate
