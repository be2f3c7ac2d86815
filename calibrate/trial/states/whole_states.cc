// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/states/whole_states.h"

#include "calibrate/trial/states/optimizer_step.h"
#include "calibrate/trial/states/sharded_states.h"
#include "sim/block/transfer_names.h"

namespace meshwright::calibrate {
namespace {

using transfer_names::kGradientAllReduce;
using transfer_names::kGradientReduceScatter;
using transfer_names::kMirroredGradientAllReduce;
using transfer_names::kReplicatedGradientAllReduce;
using transfer_names::kShardAllReduce;
using transfer_names::kUpdatedWeightAllGather;

}  // namespace

// Neither DeepSpeed's sums of whole gradients under ZeRO-1 nor FSDP below a pipeline, which reduces
// after the last backward (data_overlap).
bool reduces_by_layer(const Layout& layout) {
  return layout.overlap_grad_reduce && !uses_fsdp(layout) && layout.zero_stage < 2 &&
         !layout.all_reduce_gradients;
}

void sum_partial_gradients(const TrialContext& context, const ParameterUnit& unit) {
  if (unit.partial_count == 0 || unit.gradients.empty()) return;
  context.groups.tensor.all_reduce(kReplicatedGradientAllReduce, Phase::step,
                                   unit.gradients.data() + unit.partial_begin, unit.partial_count);
}

bool WholeStates::is_sharded(const ParameterUnit& unit) const {
  return context_.layout.zero_stage > 0 && unit.shards.count > 1;
}

CountedGroup& WholeStates::shard_ranks(const ParameterUnit& unit) const {
  return unit.expert ? context_.groups.expert_data_shard : context_.groups.data_shard;
}

CountedGroup& WholeStates::ranks(const ParameterUnit& unit) const {
  return unit.expert ? context_.groups.expert_data : context_.groups.data;
}

void WholeStates::use(int unit) {
  for (ParameterUnit& u : store_.units()) {
    if (u.key == unit) gather(u);
  }
}

void WholeStates::reduce_gradients(int unit) {
  if (!last_pass_ || unit == kRootUnit) return;
  for (ParameterUnit& u : store_.units()) {
    if (u.key == unit) reduce(u);
  }
}

// Sharded gradients: each rank's part of the array gets the sum, and ranks with the same part sum
// theirs. DeepSpeed may sum whole gradients (reduce_scatter false).
void WholeStates::reduce(ParameterUnit& unit) {
  if (unit.gradients_reduced) return;
  unit.gradients_reduced = true;
  sum_partial_gradients(context_, unit);
  float* gradients = unit.gradients.data();
  if (!is_sharded(unit) || context_.layout.all_reduce_gradients) {
    ranks(unit).all_reduce(kGradientAllReduce, Phase::step, gradients, unit.total);
    return;
  }
  const Tensor share = context_.tensor(unit.total / unit.shards.count);
  shard_ranks(unit).reduce_scatter(kGradientReduceScatter, Phase::step, gradients, share.data(),
                                   share.count());
  CountedGroup& copies =
      unit.expert ? context_.groups.expert_data_copies : context_.groups.data_copies;
  copies.all_reduce(kShardAllReduce, Phase::step, share.data(), share.count());
  context_.compute.copy(gradients + share.count() * unit.shards.rank, share.data(), share.size());
}

// Stages that hold copies of each other's chunks come to them in opposite orders, and so meet here.
void WholeStates::update(ParameterUnit& unit, const AdamStep& adam) {
  reduce(unit);
  const bool sharded = is_sharded(unit);
  const std::int64_t count = unit.total / (sharded ? unit.shards.count : 1);
  const std::int64_t begin = sharded ? count * unit.shards.rank : 0;
  float* gradients = unit.gradients.data() + begin;
  context_.groups.mirrored.all_reduce(kMirroredGradientAllReduce, Phase::step, gradients, count);
  update_weights(context_, unit, unit.weights.data() + begin, gradients, count, adam);
  unit.gradients_reduced = false;
  unit.weights_outdated = sharded;
  if (sharded) return;
  const TermScope scope(context_.recorder, TermKind::optimizer);
  unit.round_weights(context_.compute);
}

// Weights that are sent in 16 bits keep their master copy.
void WholeStates::gather(ParameterUnit& unit) {
  if (!unit.weights_outdated) return;
  unit.weights_outdated = false;
  const Tensor share = context_.tensor(unit.total / unit.shards.count);
  float* own = unit.weights.data() + share.count() * unit.shards.rank;
  context_.compute.copy(share.data(), own, share.size());
  shard_ranks(unit).all_gather(kUpdatedWeightAllGather, Phase::step, share.data(),
                               unit.weights.data(), share.count());
  const bool rounded = has_sixteen_bits(message_formats(context_.job).weights);
  if (rounded) context_.compute.copy(own, share.data(), share.size());
  unit.round_weights(context_.compute);
}

void WholeStates::update(const AdamStep& adam) {
  last_pass_ = false;
  for (ParameterUnit& unit : store_.units()) {
    update(unit, adam);
    if (!context_.layout.overlap_param_gather) gather(unit);
  }
}

void WholeStates::gather_all() {
  for (ParameterUnit& unit : store_.units()) gather(unit);
}

}  // namespace meshwright::calibrate
