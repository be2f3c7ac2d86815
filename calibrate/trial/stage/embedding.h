// SPDX-License-Identifier: Apache-2.0
// The first stage's beginning: vocabulary-parallel token embedding and learned positions.
//
// Positions are added to whole rows after the sum over the vocabulary's slices; under sequence
// parallelism each rank then keeps its rows (Megatron-LM's language_model_embedding).
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/trial/ranks/context.h"
#include "calibrate/trial/states/parameters.h"

namespace meshwright::calibrate {

class Embedding {
 public:
  Embedding(const TrialContext& context, ParameterStore& store);
  // Looks up in a matrix that is there, without positions.
  Embedding(const TrialContext& context, Parameter& words) : context_(context), words_(words) {}

  [[nodiscard]] Parameter& words() const { return words_; }
  // After the context's positions have changed.
  void update_positions();
  // Of rows that follow no order: the place in its sequence of each row of the next passes.
  void set_positions(const std::vector<std::int32_t>& positions);
  // tokens: rows() ids on the device.
  [[nodiscard]] Tensor forward(const Tensor& tokens) const;
  void backward(const Tensor& dy, const Tensor& tokens) const;

 private:
  const TrialContext& context_;
  Parameter& words_;
  Parameter* positions_ = nullptr;
  Tensor position_ids_;
};

// This tensor rank's slice of the (padded) vocabulary: rows x hidden.
Parameter vocabulary_slice(const TrialContext& context, const char* name);

}  // namespace meshwright::calibrate
