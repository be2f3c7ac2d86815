// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/states/sharded_states.h"

#include <algorithm>
#include <utility>

#include "calibrate/trial/states/optimizer_step.h"
#include "calibrate/trial/states/whole_states.h"
#include "sim/block/transfer_names.h"
#include "sim/memory/model_state.h"
#include "sim/volume/volume.h"

namespace meshwright::calibrate {
namespace {

using transfer_names::kFirstUnitGather;
using transfer_names::kFirstUnitReduceScatter;
using transfer_names::kGradientReduceScatter;
using transfer_names::kReplicatedGradientAllReduce;
using transfer_names::kRootGather;
using transfer_names::kRootReduceScatter;
using transfer_names::kShardAllReduce;
using transfer_names::kUnitGather;
using transfer_names::kUnitGatherAgain;
using transfer_names::kUnitReduceScatter;
using transfer_names::kUpdatedWeightAllGather;
using transfer_names::kWeightGather;
using transfer_names::kWeightGatherAgain;

// A shard's piece of a partial gradient, in the shard's array.
struct Segment {
  float* data;
  std::int64_t count;
};

}  // namespace

bool shards_by_unit(const Layout& layout) {
  if (uses_fsdp(layout)) return !fsdp_below_pipeline(layout);
  return layout.zero_stage > 1;
}

bool defers_gradients(const Job& job, const Layout& layout) {
  return shards_by_unit(layout) && fsdp_reduces_once(job, layout);
}

int unit_of_layer(const Layout& layout, int layer) {
  if (reduces_by_layer(layout)) return layer;
  if (!shards_by_unit(layout) || layout.fsdp_unit == FsdpUnit::whole) return kRootUnit;
  return layer;
}

int calls_of_unit(const Model& model, const Layout& layout, int unit) {
  const bool by_linear =
      uses_fsdp(layout) ? layout.fsdp_unit == FsdpUnit::module : layout.zero_stage == 3;
  return by_linear && unit != kRootUnit ? linears_of_layer(model) : 1;
}

CountedGroup& ShardedStates::shard_ranks(const ParameterUnit& unit) const {
  return unit.expert ? context_.groups.expert_data_shard : context_.groups.data_shard;
}

CountedGroup& ShardedStates::shard_copies(const ParameterUnit& unit) const {
  return unit.expert ? context_.groups.expert_data_copies : context_.groups.data_copies;
}

template <typename Visit>
void ShardedStates::for_each_call(const ParameterUnit& unit, std::string_view first,
                                  std::string_view later, const Visit& visit) const {
  const std::int64_t whole = unit.total / unit.pieces, share = whole / unit.shards.count;
  for (std::int64_t i = 0; i < unit.pieces; ++i) {
    const bool is_first = unit.key == first_layer_ && i == 0;
    visit(Call{is_first ? first : later, i * whole, i * share, share});
  }
}

// Into the place of the same numbers, where another pass works with the unit.
void ShardedStates::gather(ParameterUnit& unit, Phase phase) {
  if (unit.weights.empty()) unit.take_weights(context_.arena);
  const bool again = phase != Phase::forward;
  std::string_view first = again ? kUnitGatherAgain : kFirstUnitGather;
  std::string_view later = again ? kUnitGatherAgain : kUnitGather;
  if (unit.key == kRootUnit) later = kRootGather;
  if (!uses_fsdp(context_.layout)) first = later = again ? kWeightGatherAgain : kWeightGather;
  CountedGroup& ranks = shard_ranks(unit);
  for_each_call(unit, first, later, [&](const Call& call) {
    if (ranks.size() == 1) {
      context_.compute.copy(unit.weights.data() + call.full, unit.shard_weights.data() + call.shard,
                            static_cast<std::size_t>(call.count) * sizeof(float));
    } else {
      ranks.all_gather(call.name, phase, unit.shard_weights.data() + call.shard,
                       unit.weights.data() + call.full, call.count);
    }
  });
  unit.round_weights(context_.compute);
}

void ShardedStates::use(int unit, Phase phase) {
  for (ParameterUnit& u : store_.units()) {
    if (u.key != unit) continue;
    if (u.weights_outdated) gather_updated(u);
    if (u.shard_weights.empty() || (phase != Phase::forward && kept_to_backward(unit))) continue;
    gather(u, phase);
    ++u.users;
  }
}

bool ShardedStates::kept_to_backward(int unit) const {
  const Layout& layout = context_.layout;
  return uses_fsdp(layout) && (layout.zero_stage < 3 || unit == kRootUnit);
}

void ShardedStates::release(int unit, Phase phase) {
  if (phase == Phase::forward && kept_to_backward(unit)) return;
  for (ParameterUnit& u : store_.units()) {
    if (u.key == unit && !u.shard_weights.empty() && --u.users == 0) u.release_weights();
  }
}

void ShardedStates::open_gradients(int unit) {
  for (ParameterUnit& u : store_.units()) {
    if (u.key != unit || !u.gradients.empty()) continue;
    u.take_gradients(context_.arena);
    context_.compute.fill_zero(u.gradients.data(), u.gradients.size());
  }
}

void ShardedStates::reduce(ParameterUnit& unit) {
  const bool fsdp = uses_fsdp(context_.layout);
  std::string_view first = kFirstUnitReduceScatter, later = kUnitReduceScatter;
  if (unit.key == kRootUnit) later = kRootReduceScatter;
  if (!fsdp) first = later = kGradientReduceScatter;
  CountedGroup& ranks = shard_ranks(unit);
  Tensor share = context_.tensor(unit.total / unit.shards.count);
  for_each_call(unit, first, later, [&](const Call& call) {
    if (ranks.size() == 1) {
      context_.compute.copy(share.data() + call.shard, unit.gradients.data() + call.full,
                            static_cast<std::size_t>(call.count) * sizeof(float));
    } else {
      ranks.reduce_scatter(call.name, Phase::backward, unit.gradients.data() + call.full,
                           share.data() + call.shard, call.count);
    }
  });
  unit.gradients.release();
  if (fsdp) {
    CountedGroup& copies = shard_copies(unit);
    for_each_call(unit, kShardAllReduce, kShardAllReduce, [&](const Call& call) {
      copies.all_reduce(call.name, Phase::backward, share.data() + call.shard, call.count);
    });
  }
  if (unit.shard_gradients.empty()) {
    unit.shard_gradients = std::move(share);
    return;
  }
  context_.compute.add(unit.shard_gradients.data(), share.data(), unit.shard_gradients.data(),
                       share.count());
}

// Does for the sums over all micro-batches what reduce() does after each of them.
void ShardedStates::reduce_once(ParameterUnit& unit) {
  CountedGroup& ranks = shard_ranks(unit);
  unit.shard_gradients = context_.tensor(unit.total / unit.shards.count);
  for_each_call(unit, kGradientReduceScatter, kGradientReduceScatter, [&](const Call& call) {
    if (ranks.size() == 1) {
      context_.compute.copy(unit.shard_gradients.data() + call.shard,
                            unit.gradients.data() + call.full,
                            static_cast<std::size_t>(call.count) * sizeof(float));
    } else {
      ranks.reduce_scatter(call.name, Phase::step, unit.gradients.data() + call.full,
                           unit.shard_gradients.data() + call.shard, call.count);
    }
  });
  shard_copies(unit).all_reduce(kShardAllReduce, Phase::step, unit.shard_gradients.data(),
                                unit.shard_gradients.count());
}

void ShardedStates::reduce_gradients(int unit) {
  if (defers_gradients(context_.job, context_.layout)) return;
  for (ParameterUnit& u : store_.units()) {
    if (u.key == unit) reduce(u);
  }
}

// The pieces are put side by side for one call.
void ShardedStates::sum_partial_gradients() {
  std::vector<Segment> segments;
  std::int64_t all = 0;
  for (ParameterUnit& unit : store_.units()) {
    const std::int64_t begin = unit.partial_begin, end = begin + unit.partial_count;
    for_each_call(unit, "", "", [&](const Call& call) {
      const std::int64_t from = call.full + call.count * unit.shards.rank;
      const std::int64_t first = std::max(begin, from), last = std::min(end, from + call.count);
      if (first >= last) return;
      segments.push_back({unit.shard_gradients.data() + call.shard + first - from, last - first});
      all += last - first;
    });
  }
  if (all == 0 || context_.groups.tensor.size() == 1) return;
  const Tensor together = context_.tensor(all);
  const auto move = [&](bool there) {
    std::int64_t next = 0;
    for (const Segment& s : segments) {
      float* side = together.data() + next;
      const auto size = static_cast<std::size_t>(s.count) * sizeof(float);
      context_.compute.copy(there ? side : s.data, there ? s.data : side, size);
      next += s.count;
    }
  };
  move(true);
  context_.groups.tensor.all_reduce(kReplicatedGradientAllReduce, Phase::step, together.data(),
                                    all);
  move(false);
}

void ShardedStates::update(ParameterUnit& unit, const AdamStep& adam) {
  if (!uses_fsdp(context_.layout)) {
    shard_copies(unit).all_reduce(kShardAllReduce, Phase::step, unit.shard_gradients.data(),
                                  unit.shard_gradients.count());
  }
  const bool keeps_whole = unit.shard_weights.empty();
  if (keeps_whole) unit.shard_weights = context_.tensor(unit.total / unit.shards.count);
  for_each_call(unit, "", "", [&](const Call& call) {
    if (!keeps_whole) return;
    context_.compute.copy(unit.shard_weights.data() + call.shard,
                          unit.weights.data() + call.full + call.count * unit.shards.rank,
                          static_cast<std::size_t>(call.count) * sizeof(float));
  });
  {
    const TermScope scope(context_.recorder, TermKind::optimizer);
    update_weights(context_, unit, unit.shard_weights.data(), unit.shard_gradients.data(),
                   unit.shard_weights.count(), adam);
    if (unit.gradients.empty() && !uses_fsdp(context_.layout)) {
      context_.compute.fill_zero(unit.shard_gradients.data(), unit.shard_gradients.size());
    } else {
      unit.shard_gradients.release();
    }
  }
  unit.weights_outdated = keeps_whole;
}

// ZeRO-2, of weights that are whole between the steps.
void ShardedStates::gather_updated(ParameterUnit& unit) {
  unit.weights_outdated = false;
  CountedGroup& ranks = shard_ranks(unit);
  for_each_call(unit, kUpdatedWeightAllGather, kUpdatedWeightAllGather, [&](const Call& call) {
    if (ranks.size() == 1) return;
    ranks.all_gather(call.name, Phase::step, unit.shard_weights.data() + call.shard,
                     unit.weights.data() + call.full, call.count);
    if (!has_sixteen_bits(message_formats(context_.job).weights)) return;
    context_.compute.copy(unit.weights.data() + call.full + call.count * unit.shards.rank,
                          unit.shard_weights.data() + call.shard,
                          static_cast<std::size_t>(call.count) * sizeof(float));  // master copies
  });
  if (ranks.size() == 1) {
    context_.compute.copy(unit.weights.data(), unit.shard_weights.data(), unit.weights.size());
  }
  unit.round_weights(context_.compute);
  unit.shard_weights.release();
}

void ShardedStates::update(const AdamStep& adam) {
  if (!defers_gradients(context_.job, context_.layout)) sum_partial_gradients();
  for (ParameterUnit& unit : store_.units()) {
    if (!unit.gradients.empty()) reduce_once(unit);
    update(unit, adam);
    const bool later = context_.layout.overlap_param_gather;  // with the next forward
    if (unit.weights_outdated && !later) gather_updated(unit);
  }
}

void ShardedStates::gather_all() {
  for (ParameterUnit& unit : store_.units()) {
    if (unit.weights_outdated) gather_updated(unit);
    if (unit.weights.empty()) gather(unit, Phase::step);
  }
}

}  // namespace meshwright::calibrate
