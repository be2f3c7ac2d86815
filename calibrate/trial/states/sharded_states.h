// SPDX-License-Identifier: Apache-2.0
// ZeRO-2, ZeRO-3 and PyTorch FSDP: weights or gradients of a unit (a layer; embedding, last norm
// and head) are whole only while the unit is worked on.
//
// ZeRO-2 reduces a unit's gradients after its backward, ZeRO-3 also gathers its weights before its
// forward and again before its backward (arXiv 1910.02054, section 7). FSDP keeps what belongs to
// no layer gathered from forward to backward, and with zero_stage below 3 the layers, too. It may
// keep whole gradients until the last of several micro-batches (defer_grad_reduce,
// set_requires_gradient_sync).
#pragma once

#include <string_view>

#include "calibrate/trial/ranks/context.h"
#include "calibrate/trial/states/parameters.h"

namespace meshwright::calibrate {

// Tells whether a layout's states are gathered and reduced by unit. PyTorch keeps those below
// pipelines whole for a step, and Megatron-LM's distributed optimizer always.
bool shards_by_unit(const Layout& layout);
// Tells whether such gradients are whole from the first micro-batch to the last.
bool defers_gradients(const Job& job, const Layout& layout);
// The unit of a layer, and that of what belongs to none.
inline constexpr int kRootUnit = -1;
int unit_of_layer(const Layout& layout, int layer);
// Calls that one unit's gather or reduction is cut into: linears, where these are what is wrapped.
int calls_of_unit(const Model& model, const Layout& layout, int unit);

class ShardedStates {
 public:
  ShardedStates(const TrialContext& context, ParameterStore& store, int first_layer)
      : context_(context), store_(store), first_layer_(first_layer) {}

  // Before a pass reads the unit's weights, and when it has read them.
  void use(int unit, Phase phase);
  void release(int unit, Phase phase);
  // Before and after the unit's backward.
  void open_gradients(int unit);
  void reduce_gradients(int unit);
  // The optimizer's step, once all micro-batches are through.
  void update(const AdamStep& adam);

  // Whole weights, for whoever wants to look at them.
  void gather_all();

 private:
  struct Call {
    std::string_view name;
    std::int64_t full, shard, count;  // begin in the whole array and in the shard's; of the shard
  };
  template <typename Visit>
  void for_each_call(const ParameterUnit& unit, std::string_view first, std::string_view later,
                     const Visit& visit) const;
  // FSDP's: gathered for a forward, and whole until its backward is done.
  [[nodiscard]] bool kept_to_backward(int unit) const;
  void gather(ParameterUnit& unit, Phase phase);
  void reduce(ParameterUnit& unit);
  void reduce_once(ParameterUnit& unit);
  [[nodiscard]] CountedGroup& shard_copies(const ParameterUnit& unit) const;
  // Sequence parallelism: what tensor ranks have seen pieces of, of this rank's shards.
  void sum_partial_gradients();
  void update(ParameterUnit& unit, const AdamStep& adam);
  void gather_updated(ParameterUnit& unit);
  [[nodiscard]] CountedGroup& shard_ranks(const ParameterUnit& unit) const;

  const TrialContext& context_;
  ParameterStore& store_;
  int first_layer_;
};

}  // namespace meshwright::calibrate
