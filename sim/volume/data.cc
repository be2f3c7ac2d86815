// SPDX-License-Identifier: Apache-2.0
// Gradients and sharded weights over the data group (dense parameters: data x context ranks) and
// the expert data group, by ZeRO stage (arXiv 1910.02054, section 7; hybrid sharding: MiCS, HSDP).
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/block/parameters.h"
#include "sim/block/transfer_names.h"
#include "sim/layout/pipeline_shape.h"
#include "sim/memory/model_state.h"
#include "sim/schedule/schedule.h"
#include "sim/schedule/traits.h"
#include "sim/volume/parts.h"

namespace meshwright {
namespace {

// One kind of parameters of one rank and the ranks that reduce their gradients.
struct Shard {
  Group group = Group::data;
  double parameters = 0;      // with gradients
  double fp8_parameters = 0;  // parameters that are gathered in one byte
  double frozen_bytes = 0;    // bytes of LoRA's base weights, which only ZeRO-3 and FSDP gather
  double held = 0;            // parameters with the base's
  int group_size = 1;
  int shard_size = 1;  // ranks that share one copy of the sharded state
  [[nodiscard]] Shard part(double share) const {
    Shard of = *this;
    of.parameters *= share;
    of.fp8_parameters *= share;
    of.frozen_bytes *= share;
    of.held *= share;
    return of;
  }
};

std::array<Shard, 2> shards_of(const VolumeScope& scope, const Stage& stage) {
  const Layout& layout = scope.layout;
  const StageParameters parameters = reduced_parameters(scope.model, scope.job, layout, stage);
  const int data = gradient_group_size(layout);
  const int expert_data = expert_data_parallel_size(layout);
  StageParameters small, frozen;
  if (freezes_weights(scope.job)) {
    const bool gathered = layout.zero_stage == 3 || uses_fsdp(layout);
    if (gathered) frozen = frozen_bytes(scope.model, scope.job, layout, stage);
  } else if (gathers_fp8_params(scope.job, layout)) {
    small = fp8_parameters(scope.model, scope.job, layout, stage);
  }
  const StageParameters held = freezes_weights(scope.job)
                                   ? stage_parameters(scope.model, scope.job, layout, stage)
                                   : parameters;
  return {{{Group::data, parameters.dense, small.dense, frozen.dense, held.dense, data,
            zero_shard_group_size(layout)},
           {Group::expert_data, parameters.expert, small.expert, frozen.expert, held.expert,
            expert_data, expert_shard_group_size(layout)}}};
}

class DataLedger {
 public:
  DataLedger(Ledger& ledger, const VolumeScope& scope, const Shard& shard)
      : ledger_(ledger),
        scope_(scope),
        shard_(shard),
        gradients_(bytes(shard.parameters * gradient_bytes(scope.job, scope.layout))),
        weights_(
            bytes((shard.parameters - shard.fp8_parameters) * weight_bytes(scope.job.precision) +
                  shard.fp8_parameters * gathered_narrow_bytes(scope.job) + shard.frozen_bytes)) {}

  void all_reduce_gradients(Phase phase) {
    add(transfer_names::kGradientAllReduce, Collective::all_reduce, phase, shard_.group_size,
        gradients_, scope_.layout.overlap_grad_reduce, "N*g");
  }
  void reduce_scatter_gradients(Phase phase) {
    reduce_scatter(transfer_names::kGradientReduceScatter, phase,
                   scope_.layout.overlap_grad_reduce);
  }
  void reduce_scatter(std::string_view name, Phase phase, bool overlappable) {
    add(name, Collective::reduce_scatter, phase, shard_.shard_size, gradients_, overlappable,
        "N*g");
  }
  // Every later call is made once a unit for its share of the bytes: what sharded training gathers
  // and reduces at a time.
  void cut_into_units(int units) { units_ = units; }
  // Hybrid sharding: each shard is summed over the copies.
  void all_reduce_between_copies(Phase phase) {
    add(transfer_names::kShardAllReduce, Collective::all_reduce, phase,
        shard_.group_size / shard_.shard_size, gradients_ / shard_.shard_size,
        scope_.layout.overlap_grad_reduce, "N*g/shard");
  }
  void all_gather_weights(std::string_view name, Phase phase) {
    all_gather(name, phase, scope_.layout.overlap_param_gather);
  }
  void all_gather(std::string_view name, Phase phase, bool overlappable) {
    add(name, Collective::all_gather, phase, shard_.shard_size, weights_, overlappable, "N*w");
  }

 private:
  void add(std::string_view name, Collective collective, Phase phase, int size, Bytes payload,
           bool overlappable, std::string_view formula) {
    ledger_.add({.name = name,
                 .group = shard_.group,
                 .collective = collective,
                 .phase = phase,
                 .group_size = size,
                 .times_per_step = static_cast<double>(units_),
                 .payload = payload / units_,
                 .overlappable = overlappable,
                 .formula = formula});
  }

  Ledger& ledger_;
  const VolumeScope& scope_;
  const Shard& shard_;
  Bytes gradients_;
  Bytes weights_;
  int units_ = 1;
};

// ZeRO-3 frees a linear's weights after use unless they are needed again within
// stage3_max_reuse_distance elements, 1e9: of a layer that is run again and then backward, the last
// 0.5e9. The others are gathered once more.
double released_share(double layer_parameters) {
  constexpr double kReused = 0.5e9;
  return layer_parameters > kReused ? 1.0 - kReused / layer_parameters : 0.0;
}

// Modules alike that FSDP gathers, frees and reduces as units of their own.
struct FsdpUnits {
  enum class Kind { root, embedding, layers, head } kind = Kind::layers;
  Chunk part;  // what they hold together
  int count = 1;
};

bool same_kind(const Model& model, int layer, int other) {
  return kind_index(layer_kind(model, layer)) == kind_index(layer_kind(model, other));
}

void append_layers(std::vector<FsdpUnits>& units, const VolumeScope& scope, const Chunk& chunk) {
  const bool modules = scope.layout.fsdp_unit == FsdpUnit::module;
  const int each = modules ? linears_of_layer(scope.model) : 1;
  for (int i = 0; i < chunk.num_layers; ++i) {
    const int layer = chunk.first_layer + i;
    if (i > 0 && same_kind(scope.model, layer, layer - 1)) {
      ++units.back().part.num_layers;
      units.back().count += each;
    } else {
      units.push_back({FsdpUnits::Kind::layers, {.first_layer = layer, .num_layers = 1}, each});
    }
  }
}

// A chunk's units in the order of the forward pass. Tied, embedding and head are one.
std::vector<FsdpUnits> fsdp_units(const VolumeScope& scope, const Chunk& chunk) {
  using enum FsdpUnits::Kind;
  std::vector<FsdpUnits> units;
  Chunk first = chunk, last = chunk;
  first.num_layers = last.num_layers = 0;
  last.embedding = false;
  if (scope.layout.fsdp_unit == FsdpUnit::whole) return {{root, chunk}};
  if (scope.layout.fsdp_vocabulary == FsdpVocabulary::root) {
    append_layers(units, scope, chunk);
    units.push_back({root, first});
    return units;
  }
  const bool one = scope.model.tied_embeddings && chunk.embedding && chunk.head;
  if (!one) first.head = first.mtp = false;
  if (chunk.embedding) units.push_back({one ? head : embedding, first});
  append_layers(units, scope, chunk);
  if (!one && (chunk.head || chunk.mtp)) units.push_back({head, last});
  return units;
}

// Nothing runs beside the first layer's gather, which the forward pass waits for, nor beside the
// reduction of the layer whose backward is the last; the others hide behind their neighbours.
void add_layer_units(Ledger& ledger, const VolumeScope& scope, const FsdpUnits& units,
                     bool is_first) {
  const bool frees = scope.layout.zero_stage == 3;
  const bool reduces = !fsdp_reduces_once(scope.job, scope.layout);
  Stage alone;
  alone.chunks = {units.part};
  for (const Shard& all : shards_of(scope, alone)) {
    for (const bool first : {true, false}) {
      const int exposed = is_first ? 1 : 0;
      const int some = first ? exposed : units.count - exposed;
      if (some == 0) continue;
      const Shard shard = all.part(static_cast<double>(some) / units.count);
      DataLedger data(ledger, scope, shard);
      data.cut_into_units(some);
      data.all_gather(first ? transfer_names::kFirstUnitGather : transfer_names::kUnitGather,
                      Phase::forward, !first);
      if (reduces) {
        data.reduce_scatter(
            first ? transfer_names::kFirstUnitReduceScatter : transfer_names::kUnitReduceScatter,
            Phase::backward, !first);
      }
    }
    DataLedger data(ledger, scope, all);
    data.cut_into_units(units.count);
    if (frees) data.all_gather(transfer_names::kUnitGatherAgain, Phase::backward, true);
    if (reduces) data.all_reduce_between_copies(Phase::backward);
  }
}

// The root's parameters stay gathered from its forward to its backward.
void add_root(Ledger& ledger, const VolumeScope& scope, const Chunk& root) {
  Stage alone;
  alone.chunks = {root};
  for (const Shard& shard : shards_of(scope, alone)) {
    DataLedger data(ledger, scope, shard);
    data.all_gather(transfer_names::kRootGather, Phase::forward, false);
    if (fsdp_reduces_once(scope.job, scope.layout)) continue;
    data.reduce_scatter(transfer_names::kRootReduceScatter, Phase::backward, false);
    data.all_reduce_between_copies(Phase::backward);
  }
}

// Rows of the embedding or of the head.
double table_parameters(const VolumeScope& scope) {
  Stage alone;
  alone.chunks = {{.embedding = true}};
  return reduced_parameters(scope.model, scope.job, scope.layout, alone).dense;
}

// Gradients of an embedding or head unit as they are reduced: a loss in pieces has done the head's
// backward when that of the norm begins.
std::vector<Shard> reduced_in_turn(const VolumeScope& scope, const FsdpUnits& unit) {
  Stage alone;
  alone.chunks = {unit.part};
  const Shard all = shards_of(scope, alone).front();
  if (unit.kind != FsdpUnits::Kind::head || scope.job.loss_chunks == 1) return {all};
  Shard table = all, rest = all;
  table.parameters = table_parameters(scope);
  if (!unit.part.embedding) rest.parameters -= table.parameters;
  return {table, rest};
}

// Copies without shards (torchtitan data_parallel_replicate_degree alone): each backward pass sums
// the gradient of each unit.
void add_replicated_units(Ledger& ledger, const VolumeScope& scope, const FsdpUnits& units) {
  if (units.kind != FsdpUnits::Kind::layers) {
    for (const Shard& shard : reduced_in_turn(scope, units)) {
      DataLedger(ledger, scope, shard).all_reduce_gradients(Phase::backward);
    }
    return;
  }
  Stage alone;
  alone.chunks = {units.part};
  for (const Shard& shard : shards_of(scope, alone)) {
    DataLedger data(ledger, scope, shard);
    data.cut_into_units(units.count);
    data.all_reduce_gradients(Phase::backward);
  }
}

// Embedding or head. After a loss in pieces the head was freed, so that its unit is gathered for
// the norm's backward once more. A head that is freed after its forward is gathered for the loss,
// too.
void add_vocabulary_unit(Ledger& ledger, const VolumeScope& scope, const FsdpUnits& unit) {
  using enum FsdpUnits::Kind;
  const Layout& layout = scope.layout;
  const bool in_pieces = unit.kind == head && scope.job.loss_chunks > 1;
  const bool frees = unit.kind == embedding ? layout.zero_stage == 3
                                            : layout.fsdp_vocabulary == FsdpVocabulary::freed_units;
  Stage alone;
  alone.chunks = {unit.part};
  const Shard all = shards_of(scope, alone).front();
  Shard gathered = all;
  // A tied table is listed under both modules of its unit, and gathered twice (torchtitan 0.3.0).
  if (unit.part.embedding && unit.part.head) gathered.parameters += table_parameters(scope);
  DataLedger data(ledger, scope, gathered);
  // The head's gather hides behind the last layers.
  data.all_gather(transfer_names::kVocabularyGather, Phase::forward, unit.kind == head);
  const int again = (frees ? 1 : 0) + (in_pieces ? 1 : 0);
  for (int i = 0; i < again; ++i) {
    data.all_gather(transfer_names::kVocabularyGatherAgain, Phase::backward,
                    unit.kind == embedding);
  }
  if (fsdp_reduces_once(scope.job, layout)) return;
  for (const Shard& shard : reduced_in_turn(scope, unit)) {
    DataLedger part(ledger, scope, shard);
    part.reduce_scatter(transfer_names::kVocabularyReduceScatter, Phase::backward,
                        unit.kind == head);
    part.all_reduce_between_copies(Phase::backward);
  }
}

// Adds the transfers that FSDP makes once per step: in a pipeline, and if gradients are reduced
// after the last micro-batch. Under PyTorch 2.15 (spmd_types) chunks of a looped pipeline take
// turns to be gathered, each beside passes of others; earlier releases unshard a chunk's root alone
// (pipelining/schedules.py, UNSHARD).
void add_fsdp_step(Ledger& ledger, const VolumeScope& scope, const Stage& stage, int stage_index) {
  if (!fsdp_reduces_once(scope.job, scope.layout)) return;
  const bool whole_step = fsdp_below_pipeline(scope.layout);
  std::vector<int> gathers(stage.chunks.size(), 1);
  if (whole_step && scope.layout.tensor_engine == TensorEngine::spmd_types) {
    PipelineSizes sizes = pipeline_sizes(scope.layout, scope.job.global_batch_size);
    sizes.chunks = static_cast<int>(stage.chunks.size());
    gathers = chunk_gathers(scope.layout.schedule, sizes, stage_index);
  }
  const auto add = [&](const Stage& part, int units, int times_gathered) {
    for (const Shard& shard : shards_of(scope, part)) {
      DataLedger data(ledger, scope, shard);
      data.cut_into_units(units);
      if (whole_step) data.all_gather(transfer_names::kUpdatedWeightAllGather, Phase::step, true);
      for (int i = 1; whole_step && i < times_gathered; ++i) {
        data.all_gather(transfer_names::kUnitGatherAgain, Phase::forward, true);
      }
      data.reduce_scatter(transfer_names::kGradientReduceScatter, Phase::step, !whole_step);
      data.all_reduce_between_copies(Phase::step);
    }
  };
  // The trial's own FSDP reduces a stage at once.
  if (!uses_dtensor(scope.layout)) return add(stage, 1, 1);
  for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
    for (const FsdpUnits& units : fsdp_units(scope, stage.chunks[c])) {
      Stage alone;
      alone.chunks = {units.part};
      add(alone, units.count, gathers[c]);
    }
  }
}

}  // namespace

int linears_of_layer(const Model& model) {
  if (model.num_attention_heads == 0) return 2;
  return is_gated(model.activation) ? 7 : 4;
}

// A rank with only its piece of the gradients must reduce them after every micro-batch (DeepSpeed
// ZeRO-2). A rank with only its piece of the weights must gather them for every forward and
// backward pass.
void add_zero_transfers(Ledger& ledger, const VolumeScope& scope, const Chunk& chunk,
                        bool recomputed) {
  if (uses_fsdp(scope.layout)) {
    if (fsdp_below_pipeline(scope.layout)) return;
    bool first = true;
    for (const FsdpUnits& units : fsdp_units(scope, chunk)) {
      if (units.kind == FsdpUnits::Kind::root) {
        add_root(ledger, scope, units.part);
      } else if (units.kind != FsdpUnits::Kind::layers) {
        add_vocabulary_unit(ledger, scope, units);
      } else {
        add_layer_units(ledger, scope, units, std::exchange(first, false));
      }
    }
    return;
  }
  if (replicates_units(scope.job, scope.layout)) {
    for (const FsdpUnits& units : fsdp_units(scope, chunk)) {
      add_replicated_units(ledger, scope, units);
    }
  }
  const int stage = scope.layout.zero_stage;
  if (stage < 2) return;
  const int units =
      std::max(1, chunk.num_layers) * (stage == 3 ? linears_of_layer(scope.model) : 1);
  Stage alone;
  alone.chunks = {chunk};
  for (const Shard& shard : shards_of(scope, alone)) {
    DataLedger data(ledger, scope, shard);
    data.cut_into_units(units);
    if (scope.layout.zero_stage == 3) {
      data.all_gather_weights(transfer_names::kWeightGather, Phase::forward);
      data.all_gather_weights(transfer_names::kWeightGatherAgain, Phase::backward);
    }
    data.reduce_scatter_gradients(Phase::backward);
    if (stage < 3 || !recomputed) continue;
    const double share = released_share(shard.held / std::max(1, chunk.num_layers));
    const Shard released = shard.part(share);
    DataLedger again(ledger, scope, released);
    again.cut_into_units(static_cast<int>(std::ceil(units * share)));
    again.all_gather_weights("weight all-gather to run again", Phase::recompute);
  }
}

void add_gradient_transfers(Ledger& ledger, const VolumeScope& scope, const Stage& stage,
                            int stage_index) {
  const int zero = scope.layout.zero_stage;
  if (uses_fsdp(scope.layout)) add_fsdp_step(ledger, scope, stage, stage_index);
  double mirrored = 0;
  for (const Shard& shard : shards_of(scope, stage)) {
    mirrored += shard.parameters / (zero > 0 ? shard.shard_size : 1);
    DataLedger data(ledger, scope, shard);
    if (uses_fsdp(scope.layout) || replicates_units(scope.job, scope.layout)) continue;
    const bool all_reduces = zero == 1 && scope.layout.all_reduce_gradients;
    if (zero == 0 || all_reduces) data.all_reduce_gradients(Phase::step);
    if (zero == 0) continue;
    if (zero == 1 && !all_reduces) data.reduce_scatter_gradients(Phase::step);
    if (!all_reduces) data.all_reduce_between_copies(Phase::step);
    if (zero < 3) data.all_gather_weights(transfer_names::kUpdatedWeightAllGather, Phase::step);
  }
  if (!traits(scope.layout.schedule).mirrored()) return;
  // Stages r and p-1-r hold the same chunks and each has seen half the micro-batches.
  ledger.add({.name = transfer_names::kMirroredGradientAllReduce,
              .group = Group::pipeline,
              .collective = Collective::all_reduce,
              .phase = Phase::step,
              .group_size = 2,
              .times_per_step = 1,
              .payload = bytes(mirrored * gradient_bytes(scope.job, scope.layout)),
              .overlappable = scope.layout.overlap_grad_reduce,
              .formula = "N*g"});
}

}  // namespace meshwright
