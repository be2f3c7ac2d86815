// SPDX-License-Identifier: Apache-2.0
// Data parallelism and ZeRO-1: weights and gradients are whole from the first micro-batch to the
// last; from ZeRO-1 on each data rank updates its part of them (arXiv 1910.02054, 5.1).
//
// With overlap_grad_reduce a layer is a bucket: its gradients are reduced as soon as the last
// micro-batch's backward has given them, between the layers; those of embedding, last norm and head
// after all others. With overlap_param_gather a layer's updated weights are gathered when the next
// step's forward comes to it. Ranks whose calls block do this in their own time: a core computes or
// communicates.
#pragma once

#include "calibrate/trial/ranks/context.h"
#include "calibrate/trial/states/parameters.h"

namespace meshwright::calibrate {

// Tells whether a layer's gradients are a bucket, reduced on its own.
bool reduces_by_layer(const Layout& layout);
// The tensor ranks' sum of what each has of its positions only (sequence parallelism).
void sum_partial_gradients(const TrialContext& context, const ParameterUnit& unit);

class WholeStates {
 public:
  WholeStates(const TrialContext& context, ParameterStore& store)
      : context_(context), store_(store) {}

  // Before a pass reads the unit's weights.
  void use(int unit);
  // Tells whether the passes from now on are the last of the step to give their layers gradients.
  void begin_pass(bool last) { last_pass_ = last; }
  // After the unit's backward.
  void reduce_gradients(int unit);
  // The optimizer's step, once all micro-batches are through.
  void update(const AdamStep& adam);

  // Updated weights that no forward pass has asked for yet.
  void gather_all();

 private:
  [[nodiscard]] bool is_sharded(const ParameterUnit& unit) const;
  [[nodiscard]] CountedGroup& shard_ranks(const ParameterUnit& unit) const;
  [[nodiscard]] CountedGroup& ranks(const ParameterUnit& unit) const;
  void reduce(ParameterUnit& unit);
  void update(ParameterUnit& unit, const AdamStep& adam);
  void gather(ParameterUnit& unit);

  const TrialContext& context_;
  ParameterStore& store_;
  bool last_pass_ = false;
};

}  // namespace meshwright::calibrate
