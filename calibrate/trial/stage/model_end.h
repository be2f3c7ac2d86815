// SPDX-License-Identifier: Apache-2.0
// What follows the model's last layer: the final norm, multi-token prediction, and the head once
// for each depth and the next token, or the parts of it that a chunk has.
//
// Between a chunk with multi-token prediction and a later one with the loss the hidden states of
// all depths pass, one behind the other.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "calibrate/trial/stage/batch.h"
#include "calibrate/trial/stage/head.h"
#include "calibrate/trial/stage/multi_token_prediction.h"
#include "sim/layout/stages.h"

namespace meshwright::calibrate {

// Factor on the mean loss of the prediction depths, which is added to the next token's loss
// (Megatron-LM --mtp-loss-scaling-factor, default; DeepSeek-V3's final lambda).
inline constexpr float kMtpLossScalingFactor = 0.1F;

struct EndSaved {
  Tensor output;  // the last layer's
  NormSaved norm;
  std::vector<Tensor> states;  // normed: the logits' inputs, of the next token and of each depth
  std::vector<PredictionSaved> predictions;
  std::vector<HeadSaved> heads;
};

class ModelEnd {
 public:
  // `words`: the embedding's matrix where this stage has it; else null, and where it is needed
  // there is a copy of the same name.
  ModelEnd(const TrialContext& context, ParameterStore& store, const Chunk& chunk,
           Parameter* words);

  // Tells whether the chunk has any of it.
  static bool is_in(const Model& model, const Chunk& chunk) {
    return chunk.head || has_final_norm(model, chunk);
  }
  // The embedding's matrix, as given or as copied here; else null.
  [[nodiscard]] Parameter* words() const { return words_; }
  // Returns the input of the next chunk; empty after the head.
  [[nodiscard]] Tensor forward(Tensor x, const MicroBatch& data, EndSaved& saved);
  // dy: empty where the head is. `weight`: of the micro-batch's loss.
  [[nodiscard]] Tensor backward(Tensor dy, const MicroBatch& data, float weight,
                                EndSaved& saved) const;
  // Sum of the losses since the last call. Waits for the device.
  double take_loss();

 private:
  [[nodiscard]] float share_of(std::size_t depth) const;  // in the loss; depth 0: the next token
  [[nodiscard]] std::vector<Tensor> cut(const Tensor& all) const;
  [[nodiscard]] Tensor joined(const std::vector<Tensor>& states) const;

  const TrialContext& context_;
  Parameter* words_ = nullptr;
  std::optional<Norm> final_norm_;
  std::deque<MultiTokenPrediction> predictions_;
  std::optional<LanguageModelHead> language_head_;
  std::optional<MeanSquareHead> square_head_;
  // Of the step's micro-batches, on the device: the host waits for all of them at once.
  Tensor losses_;
  std::int64_t num_losses_ = 0;
};

}  // namespace meshwright::calibrate
